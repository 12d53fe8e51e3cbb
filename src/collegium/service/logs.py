"""Log lines: one JSON object each, on standard error, so that standard output stays for results."""

import logging
import sys

import structlog


def configure_logs(verbosity: int = 0) -> None:
    """Send warnings (0), also information (1), or everything (2 and more) to standard error."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(max(verbosity, 0), 2)]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.dict_tracebacks,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
