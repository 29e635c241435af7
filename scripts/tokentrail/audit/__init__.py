"""The audit: every stored number derived again from raw and compared, byte by byte; every retyped number found."""

from tokentrail.audit.chain import check_run
from tokentrail.audit.lookup import find
from tokentrail.audit.pages import check_pages
from tokentrail.audit.texts import check_texts

__all__ = ["check_pages", "check_run", "check_texts", "find"]
