"""A TCP proxy for one link: counts the lab's messages that pass, and can be cut."""

import socket
import threading
from contextlib import suppress

from meshwright.deploy.lab.clients import HEADER, MARK, NUMBERED

PUBLISH = 3


class Proxy:
    """Stands between a dialling broker and the one it dials."""

    def __init__(self, port: int) -> None:
        self.to = port
        self.sent = [0, 0]  # numbered messages from the dialling end, and from the dialled
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._whole = True
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break the connection and refuse new ones."""
        with self._lock:
            self._whole = False
            self._drop()

    def mend(self) -> None:
        with self._lock:
            self._whole = True

    def close(self) -> None:
        with self._lock:
            self._whole = False
            self._server.close()
            self._drop()

    def _drop(self) -> None:
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            with self._lock:
                if not self._whole:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(("127.0.0.1", self.to))
                except OSError:
                    near.close()
                    continue
                self._open += [near, far]
            for way, (source, target) in enumerate(((near, far), (far, near))):
                args = (source, target, way)
                threading.Thread(target=self._pump, args=args, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, way: int) -> None:
        held = b""
        with suppress(OSError):
            while data := source.recv(65536):
                held = self._count(held + data, way)
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _count(self, data: bytes, way: int) -> bytes:
        """Count the messages in whole packets and return what is left of the next one."""
        while True:
            end = packet_end(data)
            if end is None or len(data) < end:
                return data
            packet, data = data[:end], data[end:]
            if packet[0] >> 4 == PUBLISH and len(packet) > HEADER.size:
                mark, _, kind, _ = HEADER.unpack(packet[-HEADER.size :])
                self.sent[way] += (mark, kind) == (MARK, NUMBERED)


def packet_end(data: bytes) -> int | None:
    """Return where the first packet ends, None when too little of it is there to tell."""
    length = 0
    for i, byte in enumerate(data[1:5]):
        length |= (byte & 127) << (7 * i)
        if byte < 128:
            return i + 2 + length
    return None
