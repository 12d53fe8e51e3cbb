"""Log lines: one JSON object each, on standard error, so that standard output stays for results.

Lines of libraries come out in the same form. Keys are struck out of every line, whoever wrote it,
and tracebacks show no local variables: those may hold what callers sent.
"""

import logging
import sys

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from collegium.service.tokens import KEY_IN_TEXT


def configure_logs(verbosity: int = 0) -> None:
    """Send warnings (0), also information (1), or everything (2 and more) to standard error."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(max(verbosity, 0), 2)]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, *_rendering()],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering()],
        )
    )
    # Libraries tell much that is of use to their authors only.
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def strike_keys(_logger: WrappedLogger, _method: str, line: str | EventDict) -> str:
    """Replace the secret of every key in a finished line."""
    return KEY_IN_TEXT.sub(r"\1[secret]", str(line))


def _rendering() -> list[Processor]:
    plain = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [
        structlog.processors.ExceptionRenderer(plain),
        structlog.processors.JSONRenderer(),
        strike_keys,
    ]
