"""Language-model engines behind one protocol."""

from collegium.llm.protocol import Completion, Engine, Message, Request

__all__ = ["Completion", "Engine", "Message", "Request"]
