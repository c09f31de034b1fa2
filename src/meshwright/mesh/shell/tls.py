"""TLS of the links between agents: both sides show a certificate."""

import ssl

from meshwright.errors import InputError


def tls_contexts(
    who: str, ca: str, cert: str, key: str
) -> tuple[ssl.SSLContext | None, ssl.SSLContext | None]:
    """Return how one side listens and dials; None without certificates in the inventory."""
    if not ca:
        return None, None
    try:
        server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=ca)
        server.verify_mode = ssl.CERT_REQUIRED
        client = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=ca)
        for context in (server, client):
            context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"the certificates of {who} cannot be used: {error}. Check ca, cert and key in its "
            ".toml file."
        ) from error
    return server, client
