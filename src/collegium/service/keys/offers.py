"""The use-cases of keys as operations: admins only. Those that show a key are not for models."""

from typing import Any

from collegium.core import ConflictError, NotFoundError
from collegium.service.keys.use_cases import (
    KeyInfo,
    KeyPage,
    KeyService,
    ListKeysInput,
    MintedKey,
    MintInput,
    RevokeInput,
    RotateInput,
)
from collegium.service.operations import Operation, Scope

_EXAMPLE = "0a1b2c3d4e5f"


def key_operations(keys: KeyService) -> tuple[Operation[Any, Any], ...]:
    """Return the operations over `keys`."""
    mint = Operation(
        name="mint_key",
        summary="Make a key; it is shown this once",
        scope=Scope.ADMIN,
        method="POST",
        path="/v1/keys",
        input=MintInput,
        output=MintedKey,
        handler=keys.mint,
        example=MintInput(scopes=frozenset({Scope.WRITE}), namespaces=frozenset({"demo"})),
        secret=True,
    )
    listing = Operation(
        name="list_keys",
        summary="List the keys, without their secrets",
        scope=Scope.ADMIN,
        method="GET",
        path="/v1/keys",
        input=ListKeysInput,
        output=KeyPage,
        handler=keys.page,
        example=ListKeysInput(after=_EXAMPLE),
    )
    rotate = Operation(
        name="rotate_key",
        summary="Give a key a new secret; it is shown this once",
        scope=Scope.ADMIN,
        method="POST",
        path="/v1/keys/{key_id}/rotate",
        input=RotateInput,
        output=MintedKey,
        handler=keys.rotate,
        example=RotateInput(key_id=_EXAMPLE, grace_s=3600),
        errors=(NotFoundError, ConflictError),
        secret=True,
    )
    revoke = Operation(
        name="revoke_key",
        summary="End a key for good, everywhere within a minute",
        scope=Scope.ADMIN,
        method="POST",
        path="/v1/keys/{key_id}/revoke",
        input=RevokeInput,
        output=KeyInfo,
        handler=keys.revoke,
        example=RevokeInput(key_id=_EXAMPLE),
        errors=(NotFoundError,),
    )
    return (mint, listing, rotate, revoke)
