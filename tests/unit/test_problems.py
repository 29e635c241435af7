"""What a user reads when a job ends badly."""

import errno

import pytest

from tokentrail.problems import Problem, reported


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Problem("a is b; do c"), "job: a is b; do c\n"),
        (OSError(errno.ENOSPC, "No space left on device", "/x/y"), "job: /x/y: No space left on device; free space"),
        (OSError(errno.ENOSPC, "No space left on device"), "job: the output: No space left on device; free space"),
    ],
)
def test_faults_of_the_world_are_one_sentence(error, said, capsys):
    """A full disk and a folder that may not be written are no bugs: no traceback."""
    with pytest.raises(SystemExit), reported(None, "job"):
        raise error

    told = capsys.readouterr().err
    assert told.startswith(said)
    assert told.count("\n") == 1


def test_a_bug_shows_its_traceback(capsys):
    with pytest.raises(SystemExit), reported(None, "job"):
        raise KeyError("x")

    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.endswith("job: KeyError: 'x' (unexpected)\n")
