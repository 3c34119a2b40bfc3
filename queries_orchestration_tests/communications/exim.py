"""A real mail server, Exim, which puts what it takes into a mailbox."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from queries_orchestration_tests.communications.certificates import make_certificate

PACKAGE: Final = "exim4-daemon-light"
USER, PASSWORD = "ann", "tr0ub4dor"
_ACCOUNT: Final = "Debian-exim"
_PATIENCE: Final = 30.0
_ENVELOPE_TO: Final = re.compile(rb"(?m)^Envelope-to: (\S+)")

_CONFIGURATION: Final = """\
primary_hostname = localhost
exim_user = {account}
spool_directory = {folder}/spool
log_file_path = {folder}/log/%s
pid_file_path = {folder}/exim.pid
keep_environment =
acl_smtp_rcpt = check
acl_smtp_data = accept
tls_advertise_hosts = *
tls_certificate = {folder}/certificate.pem
tls_privatekey = {folder}/key.pem
smtputf8_advertise_hosts = *
rfc1413_query_timeout = 0s
host_lookup =
message_size_limit = 10M
begin acl
check:
  deny ! authenticated = *
       message = 5.7.0 log in first
  deny local_parts = nobody
       message = 5.1.1 <$local_part@$domain> is no mailbox here
  accept
begin routers
all:
  driver = accept
  transport = folder
begin transports
folder:
  driver = appendfile
  maildir_format
  directory = {folder}/mail
  create_directory
  envelope_to_add
  user = {account}
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_condition = ${{if and{{{{eq{{$auth2}}{{{user}}}}}{{eq{{$auth3}}{{{password}}}}}}}}}
  server_set_id = $auth2
  server_advertise_condition = ${{if def:tls_in_cipher}}
"""


@dataclass(frozen=True, slots=True)
class Exim:
    """The server; ``certificate`` is for who shall trust it."""

    port: int
    folder: Path
    certificate: Path

    @property
    def url(self) -> str:
        """With STARTTLS and a login."""
        return f"smtp://{USER}:{PASSWORD}@localhost:{self.port}?tls=starttls"

    def mail(self, count: int) -> dict[str, bytes]:
        """Return what lies in the mailbox, by recipient, once there are ``count`` messages."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            raw = [file.read_bytes() for file in self.folder.glob("mail/new/*")]
            if len(raw) >= count:
                return {_ENVELOPE_TO.findall(one)[0].decode(): one for one in raw}
            time.sleep(0.05)
        raise AssertionError("the messages did not arrive in time")


def exim_program() -> str | None:
    """Return where Exim is, if it is there and we may start it."""
    found = shutil.which("exim4", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return found if found and os.geteuid() == 0 else None


@contextmanager
def running_exim(program: str) -> Iterator[Exim]:
    """Run it on this machine until the block ends."""
    account = pwd.getpwnam(_ACCOUNT)
    with tempfile.TemporaryDirectory(prefix="exim-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for part in ("spool", "log", "mail"):
            (folder / part).mkdir()
            os.chown(folder / part, account.pw_uid, account.pw_gid)
        certificate = make_certificate(folder)
        os.chown(folder / "key.pem", account.pw_uid, account.pw_gid)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        configuration = folder / "exim.conf"
        configuration.write_text(
            _CONFIGURATION.format(folder=folder, account=_ACCOUNT, user=USER, password=PASSWORD)
        )
        command = [program, "-C", str(configuration), "-bdf", "-oX", f"<; [127.0.0.1]:{port}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
            try:
                _await(server, port)
                yield Exim(port, folder, certificate.file)
            finally:
                server.terminate()
                server.communicate(timeout=_PATIENCE)


def _await(server: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connected:
                connected.recv(1024)
                return
        except OSError:
            time.sleep(0.05)
    server.kill()
    raise AssertionError(server.communicate()[0].decode(errors="replace"))
