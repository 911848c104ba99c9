"""Tokens and roles."""

from dataclasses import dataclass

from models.base import Role
from resolvers.errors import Forbidden


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who calls, and what that one may do."""

    name: str
    role: Role


LOCAL = Viewer("local", Role.ADMIN)
"""Everybody on this machine, as long as no token was ever made."""


def may(viewer: Viewer, role: Role) -> bool:
    roles = list(Role)
    return roles.index(viewer.role) >= roles.index(role)


def require(viewer: Viewer, role: Role) -> None:
    if not may(viewer, role):
        raise Forbidden(role)
