"""Keys: who may call, for which namespaces, how often, and until when.

A key is shown once, when it is minted; only the hash of its secret is stored. Every process looks a
key up anew at least every 30 s, so that one revoked is refused everywhere within a minute.
"""

from collegium.service.keys.limiter import CallLimiter
from collegium.service.keys.offers import key_operations
from collegium.service.keys.places import Places
from collegium.service.keys.ring import KeyRing
from collegium.service.keys.use_cases import KeyService

__all__ = ["CallLimiter", "KeyRing", "KeyService", "Places", "key_operations"]
