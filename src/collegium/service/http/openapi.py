"""The OpenAPI document: each operation with its parameters, body, example, scope and errors.

Inputs are validated behind the gateway and not by FastAPI, so the registry's part is written here,
from the same definitions; FastAPI describes the routes that are its own.
"""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, create_model
from pydantic.json_schema import models_json_schema

from collegium.core import (
    CollegiumError,
    ForbiddenError,
    InvalidInputError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
)
from collegium.service.errors import (
    ErrorEnvelope,
    HeadersTooLargeError,
    MediaTypeError,
    TooLargeError,
    TooSlowError,
    UnexpectedError,
    envelope,
    status_of,
)
from collegium.service.operations import Operation, Registry

_SHARED = (
    UnauthenticatedError,
    ForbiddenError,
    InvalidInputError,
    RateLimitedError,
    HeadersTooLargeError,
    UnexpectedError,
    UnavailableError,
)
_WITH_BODY = (TooLargeError, TooSlowError, MediaTypeError)
_REF = "#/components/schemas/{model}"
_KEY = {"type": "http", "scheme": "bearer", "description": "A key: `collegium key mint`."}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key with the same input has no further effect; with another, 409.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128},
}

Json = dict[str, Any]
_Schemas = Mapping[Any, Json]


def document(app: FastAPI, registry: Registry) -> Json:
    """Return the document of `app`, whose other routes are those of `registry`."""
    described: Json = get_openapi(title=app.title, version=app.version, routes=app.routes)
    parts = {operation.name: _Parts(operation) for operation in registry}
    wanted: list[Any] = [(ErrorEnvelope, "serialization")]
    for part in parts.values():
        wanted += [(part.query, "validation"), (part.body, "validation")]
        wanted.append((part.operation.output, "serialization"))
    schemas, definitions = models_json_schema(wanted, ref_template=_REF)
    for part in parts.values():
        path = described["paths"].setdefault(part.operation.path, {})
        path[part.operation.method.lower()] = part.entry(schemas, definitions["$defs"])
        for unnamed in (part.query, *([] if part.body.model_fields else [part.body])):
            del definitions["$defs"][unnamed.__name__]
    components = described.setdefault("components", {})
    components.setdefault("schemas", {}).update(definitions["$defs"])
    components["securitySchemes"] = {"key": _KEY}
    return described


class _Parts:
    """An operation's input, split into what stands in path and query, and what in the body."""

    def __init__(self, operation: Operation[Any, Any]) -> None:
        self.operation = operation
        fields = operation.input.model_fields
        outside = set(operation.path_fields if operation.method == "POST" else fields)
        self.query = _part(operation, "Parameters", outside)
        self.body = _part(operation, "Body", set(fields) - outside)

    def entry(self, schemas: _Schemas, definitions: Json) -> Json:
        operation = self.operation
        answer = schemas[operation.output, "serialization"]
        query = definitions[schemas[self.query, "validation"]["$ref"].rpartition("/")[2]]
        entry: Json = {
            "operationId": operation.name,
            "summary": operation.summary,
            "security": [{"key": []}],
            "x-scope": operation.scope.value,
            "parameters": self._parameters(query),
            "responses": {"200": _answer("Done", answer), **self._failures()},
        }
        if self.body.model_fields:
            example = operation.example.model_dump(mode="json", include=set(self.body.model_fields))
            content = {"schema": schemas[self.body, "validation"], "example": example}
            entry["requestBody"] = {
                "required": any(field.is_required() for field in self.body.model_fields.values()),
                "content": {"application/json": content},
            }
        return entry

    def _parameters(self, schema: Json) -> list[Json]:
        operation = self.operation
        example = operation.example.model_dump(mode="json")
        parameters = []
        for name, field in schema.get("properties", {}).items():
            known = {
                "name": name,
                "in": "path" if name in operation.path_fields else "query",
                "required": name in schema.get("required", ()),
                "description": field.get("description", ""),
                "schema": field,
            }
            if example[name] is not None:
                known["example"] = example[name]
            parameters.append(known)
        return [*parameters, *([_IDEMPOTENCY_KEY] if operation.takes_idempotency_key else [])]

    def _failures(self) -> Json:
        errors: list[type[CollegiumError]] = [*_SHARED, *self.operation.errors]
        if self.operation.method == "POST":
            errors += _WITH_BODY
        errors.sort(key=lambda error: status_of(error.code))
        return {str(status_of(error.code)): _failure(error) for error in errors}


def _part(operation: Operation[Any, Any], name: str, fields: set[str]) -> type[BaseModel]:
    chosen: Any = {
        field: (info.rebuild_annotation(), info)
        for field, info in operation.input.model_fields.items()
        if field in fields
    }
    title = operation.name.title().replace("_", "")
    made: type[BaseModel] = create_model(
        f"{title}{name}", __config__=operation.input.model_config, **chosen
    )
    return made


def _failure(kind: type[CollegiumError]) -> Json:
    text = (kind.__doc__ or "").splitlines()[0]
    example = envelope(kind(text), "3f2a9c").model_dump(mode="json", exclude_none=True)
    answer = _answer(text, {"$ref": _REF.format(model=ErrorEnvelope.__name__)})
    answer["content"]["application/json"]["example"] = example
    return answer


def _answer(description: str, schema: Json) -> Json:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
