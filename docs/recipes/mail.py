"""Makes an e-mail of each webhook of JQueuer: `python3 docs/recipes/mail.py --help`. Needs Python, nothing else."""

import argparse
import base64
import hmac
import json
import os
import smtplib
import time
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

SUBJECTS = {
    "experiment.accomplished": "accomplished",
    "experiment.failed": "FAILED",
    "experiment.deadline_at_risk": "deadline at risk",
}


def is_genuine(secret, headers, body):
    """Whether it was signed with our secret, within the last five minutes."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    fresh = abs(time.time() - int(headers["webhook-timestamp"] or 0)) < 300
    return fresh and any(hmac.compare_digest(expected, one) for one in (headers["webhook-signature"] or "").split())


def mail_of(told, options):
    """The e-mail that says it."""
    data, mail = told["data"], EmailMessage()
    mail["From"], mail["To"] = options.sender, ", ".join(options.to)
    mail["Subject"] = f"{data['name']}: {SUBJECTS.get(told['type'], told['type'])}"
    jobs = ", ".join(f"{count} {state}" for state, count in data["jobs"].items() if count and state != "total")
    moments = [(key, data[key]) for key in ("deadline_at", "finished_at") if data[key]]
    lines = [data["reason"], f"jobs: {jobs}", *(f"{key}: {time.ctime(moment)}" for key, moment in moments)]
    mail.set_content("\n".join([f"{data['id']} ({data['state']})", "", *lines, ""]))
    return mail


def send(mail, options):
    """Hand it to the mail server; without one, print it."""
    if not options.smtp:
        print(mail, flush=True)
        return
    host, _, port = options.smtp.partition(":")
    with smtplib.SMTP(host, int(port or 25), timeout=8) as server:
        if options.starttls:
            server.starttls()
        if os.environ.get("SMTP_USER"):
            server.login(os.environ["SMTP_USER"], os.environ["SMTP_PASSWORD"])
        server.send_message(mail)


class Receiver(BaseHTTPRequestHandler):
    """Answers 2xx once the mail server has taken the e-mail; after anything else JQueuer comes again."""

    timeout = 10

    def do_POST(self):
        """Called for each webhook."""
        length = int(self.headers["Content-Length"] or 0)
        if not 0 <= length <= 100_000:  # a negative one would read without end
            return self.answer(400)
        body = self.rfile.read(length)
        if not is_genuine(self.server.secret, self.headers, body):
            return self.answer(401)
        if self.headers["webhook-id"] not in self.server.sent:  # it may come twice
            try:
                send(mail_of(json.loads(body), self.server.options), self.server.options)
            except OSError as error:  # smtplib's errors are some
                self.log_error("not mailed: %s", error)
                return self.answer(503)
            self.server.sent = [*self.server.sent[-999:], self.headers["webhook-id"]]
        return self.answer(204)

    def answer(self, status):
        """Say how it went."""
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


def main():
    """Receive until interrupted."""
    parser = argparse.ArgumentParser(description="Makes an e-mail of each webhook of JQueuer.")
    parser.add_argument("--listen", default="127.0.0.1:8090", help="HOST:PORT")
    parser.add_argument("--secret-file", type=Path, default=Path(".jqueuer/webhook_secret"))
    parser.add_argument("--smtp", help="HOST:PORT of the mail server; without it mails are printed")
    parser.add_argument("--starttls", action="store_true", help="encrypt; who logs in does: SMTP_USER, SMTP_PASSWORD")
    parser.add_argument("--from", dest="sender", default="jqueuer@localhost")
    parser.add_argument("--to", action="append", required=True, help="may be given several times")
    options = parser.parse_args()
    host, _, port = options.listen.rpartition(":")
    server = HTTPServer((host, int(port)), Receiver)
    server.secret, server.options, server.sent = options.secret_file.read_text().strip(), options, []
    print(f"listening on http://{host}:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
