"""Whether this machine can run Collegium's jobs, check by check, each red one with its remedy."""

from collegium.service.doctor.check import Check, Diagnosis, Status
from collegium.service.doctor.suite import diagnose

__all__ = ["Check", "Diagnosis", "Status", "diagnose"]
