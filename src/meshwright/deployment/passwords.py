"""Password files as ``mosquitto_passwd`` writes them: salted PBKDF2 with SHA-512."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

ITERATIONS = 101  # the default of mosquitto_passwd 2.0
SALT_BYTES = 12


def hashed(password: str) -> str:
    """Return ``$7$iterations$salt$hash`` of a password, with a new salt each time."""
    salt = secrets.token_bytes(SALT_BYTES)
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    return f"$7${ITERATIONS}${_text(salt)}${_text(digest)}"


def is_hash_of(entry: str, password: str) -> bool:
    """Tell whether an entry of a password file was made of this password."""
    try:
        empty, kind, iterations, salt, digest = entry.split("$")
        made = hashlib.pbkdf2_hmac(
            "sha512", password.encode(), base64.b64decode(salt), int(iterations)
        )
        return (empty, kind) == ("", "7") and hmac.compare_digest(base64.b64decode(digest), made)
    except (ValueError, binascii.Error):
        return False


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
