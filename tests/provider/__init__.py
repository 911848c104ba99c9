"""A provider of models for tests: it speaks OpenAI's protocol on this machine, and misbehaves on command."""

from tests.provider.running import Provider, providing

__all__ = ["Provider", "providing"]
