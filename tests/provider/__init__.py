"""A provider of models on this machine, for tests: it speaks three protocols, and misbehaves on command."""

from tests.provider.running import Provider, providing

__all__ = ["Provider", "providing"]
