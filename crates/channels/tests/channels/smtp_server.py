"""An SMTP server that prints "ready" and then each mail as a line of JSON."""

import base64
import json
import logging
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

# It would warn of passwords without TLS.
logging.disable()


class Printer:
    async def handle_DATA(self, server, session, envelope):
        mail = {
            "user": getattr(session, "auth_data", None) is not None,
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "raw": base64.b64encode(envelope.content).decode(),
        }
        print(json.dumps(mail), flush=True)
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    valid = data.login == b"bella" and data.password == b"hunter2"
    return AuthResult(success=valid, handled=False, auth_data=data)


controller = Controller(
    Printer(),
    hostname="127.0.0.1",
    port=int(sys.argv[1]),
    authenticator=authenticate,
    auth_required=True,
    auth_require_tls=False,
)
controller.start()
print("ready", flush=True)
sys.stdin.read()
controller.stop()
