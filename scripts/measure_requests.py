"""Measure one llama-server case of a plan: start a server, time streamed requests to it, stop it."""

from tokentrail.measuring import job, server

if __name__ == "__main__":
    job.main("llama-server", server.measure, __doc__)
