"""Requests that no client of ours sends, as bytes, and what each is answered with.

``@TOKEN@`` stands for an administrator's token, ``@LOG@`` and ``@OUTPUT@`` for the paths of a log of ten digits and of
an output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DESCRIPTION: Final = b'{"name":"odd","jobs":[{"id":"a","command":["true"]}]}'
_LIST: Final = "/api/v1/experiments"
_HERE: Final = b"Host: here"
_TOKEN: Final = b"Authorization: Bearer @TOKEN@"
_CLOSE: Final = b"Connection: close"


@dataclass(frozen=True)
class Case:
    """Bytes for the manager's port, and what comes back."""

    name: str
    sent: bytes
    status: int
    said: str = ""
    """A part of the answer's headers or body."""
    breaks_off: bool = False
    """No more is sent, and the server is told so."""


def get(path: str, *headers: bytes, method: str = "GET", version: str = "HTTP/1.1", host: bytes = _HERE) -> bytes:
    """A request without a body."""
    first = f"{method} {path} {version}".encode("latin-1")
    return b"\r\n".join([first, host, _TOKEN, _CLOSE, *headers]) + b"\r\n\r\n"


def post(
    *headers: bytes,
    body: bytes = DESCRIPTION,
    length: bytes | None = b"@LENGTH@",
    media_type: bytes | None = b"application/json",
    version: bytes = b"HTTP/1.1",
    host: bytes | None = _HERE,
    path: bytes = b"/api/v1/experiments",
) -> bytes:
    """A submission that is well but for what is told."""
    lines = [b"POST " + path + b" " + version, _TOKEN, _CLOSE]
    lines += [host] if host is not None else []
    lines += [b"Content-Type: " + media_type] if media_type is not None else []
    lines += [b"Content-Length: " + length.replace(b"@LENGTH@", b"%d" % len(body))] if length is not None else []
    return b"\r\n".join([*lines, *headers]) + b"\r\n\r\n" + body


def chunked(body: bytes, *headers: bytes, **options: bytes) -> bytes:
    """A submission in chunks."""
    return post(b"Transfer-Encoding: chunked", *headers, body=body, length=None, **options)


def _of_length(name: str, length: bytes, status: int = 400) -> Case:
    return Case(f"content-length-{name}", post(length=length), status, "Content-Length" if status == 400 else "")


def _of_type(name: str, media_type: bytes | None, status: int, said: str = "") -> Case:
    return Case(f"content-type-{name}", post(media_type=media_type), status, said)


def _of_key(name: str, key: bytes, status: int, said: str = "") -> Case:
    return Case(f"idempotency-key-{name}", post(b"Idempotency-Key: " + key), status, said)


def _of_host(name: str, host: bytes | None, status: int) -> Case:
    return Case(f"host-{name}", post(host=host), status)


def _of_range(name: str, asked: bytes, status: int, said: str = "") -> Case:
    return Case(f"range-{name}", get("@LOG@", b"Range: " + asked), status, said)


_CHUNK: Final = b"%x\r\n%s\r\n" % (len(DESCRIPTION), DESCRIPTION)

LENGTHS: Final = [
    _of_length("letters", b"abc"),
    _of_length("negative", b"-1"),
    _of_length("signed", b"+53"),
    _of_length("hexadecimal", b"0x35"),
    _of_length("fraction", b"53.0"),
    _of_length("underscore", b"5_3"),
    _of_length("blank", b""),
    _of_length("list", b"53, 53"),
    _of_length("other-digits", "٥٣".encode()),
    _of_length("of-five-thousand-digits", b"9" * 5000),
    Case("content-length-twice", post(b"Content-Length: 53"), 400, "Content-Length"),
    Case("content-length-twice-unlike", post(b"Content-Length: 5"), 400, "Content-Length"),
    Case("content-length-missing", post(length=None), 422, "empty"),
    Case("content-length-too-much", post(length=b"500"), 400, "the request body broke off", breaks_off=True),
    Case("content-length-too-little", post(length=b"20"), 422, "not valid JSON"),
    Case("content-length-beyond-the-limit", post(length=b"9" * 30), 413, "too-large", breaks_off=True),
    Case("content-length-and-chunks", post(b"Transfer-Encoding: chunked"), 400, "Content-Length"),
    Case("coding-unknown", post(b"Transfer-Encoding: gzip", length=None), 400),
    Case("coding-twice", chunked(b"0\r\n\r\n", b"Transfer-Encoding: chunked"), 400),
    Case(
        "coding-not-last",
        post(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n", length=None),
        400,
    ),
    Case("coding-hidden", post(b"Transfer-Encoding: \x0bchunked", length=None), 400),
    Case("coding-of-another-time", chunked(b"0\r\n\r\n", version=b"HTTP/1.0"), 400),
    Case("chunk-size-no-number", chunked(b"zz\r\nabc\r\n0\r\n\r\n"), 400, "the request body broke off"),
    Case("chunk-size-negative", chunked(b"-5\r\nabc\r\n0\r\n\r\n"), 400, "the request body broke off"),
    Case("chunk-size-prefixed", chunked(b"0x5\r\nabcde\r\n0\r\n\r\n"), 400, "the request body broke off"),
    Case("chunk-size-huge", chunked(b"f" * 100 + b"\r\nabc\r\n"), 400, "broke off", breaks_off=True),
    Case("chunk-size-endless", chunked(b"3" * 200_000), 400, "broke off", breaks_off=True),
    Case("chunk-end-missing", chunked(b"3\r\nabcXX0\r\n\r\n"), 400, "the request body broke off"),
    Case("chunk-extension-long", chunked(b"3;" + b"a" * 100_000 + b"\r\nabc\r\n0\r\n\r\n"), 400, "broke off"),
    Case("chunks-without-an-end", chunked(_CHUNK), 400, "the request body broke off", breaks_off=True),
    Case("chunks-with-a-trailer", chunked(_CHUNK + b"0\r\nX-Sum: 5\r\n\r\n"), 201),
    Case("chunks-with-a-length-in-the-trailer", chunked(_CHUNK + b"0\r\nContent-Length: 5\r\n\r\n"), 400),
]

FIELDS: Final = [
    Case("header-blank-before-colon", post(b"X-A : b"), 400),
    Case("header-coding-blank-before-colon", post(b"Transfer-Encoding : chunked"), 400),
    Case("header-folded", post(b"X-A: b\r\n c"), 400),
    Case("header-nul", post(b"X-A: a\x00b"), 400),
    Case("header-name-nul", post(b"X\x00A: a"), 400),
    Case("header-name-empty", post(b": x"), 400),
    Case("header-name-markup", post(b"<script>: x"), 400),
    Case("header-without-colon", post(b"garbage"), 400),
    Case("header-bare-carriage-return", post(b"X-A: a\rX-B: b"), 400),
    Case("header-underscore", post(b"Content_Length: 5"), 201),
    Case("headers-too-many", post(*(b"X-%d: a" % number for number in range(200))), 431),
    Case("header-too-long", post(b"X-A: " + b"a" * 20_000), 431),
    Case("header-of-two-megabytes", post(b"X-A: " + b"a" * 2_000_000), 431),
    Case("header-name-too-long", post(b"A" * 20_000 + b": b"), 431),
    Case("lines-end-in-line-feeds", get("/healthz").replace(b"\r\n", b"\n") + b"\r\n\r\n", 400),
    _of_type("missing", None, 415, "application/yaml"),
    _of_type("empty", b"", 415, "application/yaml"),
    _of_type("of-a-page", b"text/html", 415, "application/yaml"),
    _of_type("of-a-form", b"application/x-www-form-urlencoded", 415, "application/yaml"),
    _of_type("of-parts", b"multipart/form-data; boundary=x", 415, "application/yaml"),
    _of_type("list", b"application/json, text/html", 415),
    _of_type("no-slash", b"json", 415),
    _of_type("beyond-ascii", "application/jsön".encode(), 415),
    _of_type("of-five-thousand-letters", b"application/" + b"j" * 5000, 415),
    _of_type("capitals", b"APPLICATION/JSON", 201),
    _of_type("unknown-charset", b"application/json; charset=klingon", 201),
    _of_type("broken-parameters", b'application/json; ;;="\x80', 201),
    Case("content-type-twice", post(b"Content-Type: application/yaml"), 400, "Content-Type"),
    Case("content-encoding-gzip", post(b"Content-Encoding: gzip"), 415, "Content-Encoding"),
    Case("content-encoding-unknown", post(b"Content-Encoding: pied-piper"), 415, "Content-Encoding"),
    _of_key("empty", b"", 422, "Idempotency-Key"),
    _of_key("blank-within", b"a b", 422, "Idempotency-Key"),
    _of_key("tab-within", b"a\tb", 422, "Idempotency-Key"),
    _of_key("control-character", b"a\x01b", 400),
    _of_key("delete-character", b"a\x7fb", 400),
    _of_key("beyond-ascii", "schlüssel".encode(), 422, "Idempotency-Key"),
    _of_key("of-256-letters", b"k" * 256, 422, "Idempotency-Key"),
    _of_key("of-255-letters", b"k" * 255, 201),
    Case("idempotency-key-twice", post(b"Idempotency-Key: a", b"Idempotency-Key: b"), 201),
    _of_host("twice", b"Host: here\r\nHost: there", 400),
    _of_host("of-seven-thousand-letters", b"Host: " + b"a" * 7000, 400),
    _of_host("missing", None, 201),  # it is not looked at: tokens say who may do what
    _of_host("of-another", b"Host: evil.example", 201),
    _of_host("no-name", b"Host: a/b@c:99999999", 201),
    Case("origin-of-another", post(b"Origin: http://evil.example"), 403, "other sites"),
    Case("expect-something-else", post(b"Expect: 200-maybe"), 417),
    Case("method-override-of-get", get(_LIST, b"X-HTTP-Method-Override: DELETE"), 200, '"experiments"'),
    Case("method-override-of-post", post(b"X-HTTP-Method-Override: GET"), 201),
    Case("forwarded-by-nobody", get(_LIST, b"X-Forwarded-For: 127.0.0.1", b"X-Forwarded-Prefix: /x"), 200),
    Case("another-path-in-a-header", get(_LIST, b"PATH_INFO: /healthz"), 200, '"experiments"'),
    Case("another-root-in-a-header", get(_LIST, b"SCRIPT_NAME: /api"), 200, '"experiments"'),
    Case("accept-nothing-we-have", get(_LIST, b"Accept: text/html;q=x"), 200, "application/json"),
    Case("accept-no-encoding", get(_LIST, b"Accept-Encoding: identity;q=0, *;q=0"), 200),
    Case("if-none-match-anything", get(_LIST, b"If-None-Match: *"), 200),
    Case("if-modified-since-no-date", get(_LIST, b"If-Modified-Since: garbage"), 200),
    Case("cookie-of-eight-kilobytes", get(_LIST, b"Cookie: " + b"a=b;" * 2000), 200),
    _of_range("first-half", b"bytes=0-4", 206, "01234"),
    _of_range("last", b"bytes=-3", 206, "789"),
    _of_range("far-beyond", b"bytes=0-99999999999999999999", 206, "0123456789"),
    _of_range("begins-beyond", b"bytes=20-", 416, "the stream has 10 bytes"),
    _of_range("backwards", b"bytes=5-2", 200, "0123456789"),
    _of_range("no-number", b"bytes=a-b", 200, "0123456789"),
    _of_range("other-unit", b"lines=0-1", 200, "0123456789"),
    _of_range("several", b"bytes=0-1,3-4", 200, "0123456789"),
    _of_range("thousands", b"bytes=" + b"0-0," * 1500, 200, "0123456789"),
]

LINES: Final = [
    Case("http-0.9", b"GET /healthz\r\n\r\n", 400),
    Case("http-2-preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    Case("http-3", get("/healthz", version="HTTP/3.0"), 400),
    Case("http-in-small-letters", get("/healthz", version="http/1.1"), 400),
    Case("every-byte-there-is", bytes(range(256)), 400),
    Case("empty-lines-first", b"\r\n\r\n" + get("/healthz"), 400),
    Case("upgrade-to-http-2", get("/healthz", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAAAAAAIAAAAA"), 200),
    Case("upgrade-to-a-socket", get("/healthz", b"Upgrade: websocket"), 200),
    Case("proxy-protocol", b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + get("/healthz"), 400),
    Case("method-unknown", get("/healthz", method="BREW"), 405, "Allow: "),
    Case("method-small", get("/healthz", method="get"), 400),
    Case("method-no-word", get("/healthz", method="G{T"), 400),
    Case("method-markup", get("/healthz", method="<script>alert(1)</script>"), 400),
    Case("method-of-five-thousand-letters", get("/healthz", method="A" * 5000), 400),
    Case("method-trace", get("/healthz", method="TRACE"), 405, "Allow: "),
    Case("method-connect", get("here:80", method="CONNECT"), 404),
    Case("method-propfind", get(_LIST, method="PROPFIND"), 405, "Allow: "),
    Case("options-of-everything", get("*", method="OPTIONS"), 404),
    Case("target-absolute", get("http://here/healthz"), 200, "alive"),
    Case("target-of-another", get("http://evil.example/healthz"), 200, "alive"),
    Case("target-broken", get("http://[::1/healthz"), 400),
    Case("target-without-slash", get("healthz"), 400),
    Case("target-with-blank", get("/heal thz"), 400),
    Case("target-two-slashes", get("//evil.example/healthz"), 404),
    Case("target-beyond-ascii", get("/api/v1/experiments/\xc3\xa9"), 400),
    Case("target-control-character", get("/api/v1/experiments/\x01"), 400),
    Case("path-up", get("/api/v1/../../healthz"), 404),
    Case("path-up-to-a-file", get("/api/v1/files/../../../../etc/passwd"), 404),
    Case("path-up-escaped", get("/api/v1/files/..%2f..%2f..%2fetc%2fpasswd"), 404),
    Case("path-up-escaped-twice", get("/api/v1/files/%252e%252e%252fetc%252fpasswd"), 422, "sha256"),
    Case("path-up-overlong", get("/api/v1/files/%c0%ae%c0%ae%c0%af"), 422, "sha256"),
    Case("path-up-backslashes", get("/api/v1/files/..\\..\\etc"), 422, "sha256"),
    Case("path-up-from-an-output", get("@OUTPUT@/../../../../../../../etc/passwd"), 404),
    Case("path-up-from-an-output-escaped", get("@OUTPUT@%2f..%2f..%2f..%2f..%2fstdout"), 404),
    Case("path-nul", get("/api/v1/experiments/%00"), 422, "experiment_id"),
    Case("path-nul-after-an-output", get("@OUTPUT@%00.txt"), 404),
    Case("path-new-header", get("/api/v1/experiments/a%0d%0aSet-Cookie:%20x=y"), 422, "experiment_id"),
    Case("path-broken-escape", get("/api/v1/experiments/%zz%"), 422, "experiment_id"),
    Case("path-no-utf-8", get("/api/v1/experiments/%ff%fe"), 422, "experiment_id"),
    Case("path-with-parameters", get("/api/v1/experiments;jsessionid=1"), 404),
    Case("path-in-capitals", get("/API/V1/EXPERIMENTS"), 404),
    Case("path-ends-in-a-slash", get("/api/v1/experiments/"), 404),
    Case("path-of-four-thousand-letters", get("/api/v1/experiments/" + "a" * 4000), 422, "experiment_id"),
    Case("path-of-nine-thousand-letters", get("/" + "a" * 9000), 414),
    Case("path-of-a-megabyte", get("/" + "a" * 1_000_000), 414),
    Case("query-of-six-thousand-letters", get(f"{_LIST}?x={'a' * 6000}"), 422),
    Case("query-brackets", get(f"{_LIST}?limit[]=1"), 422, "limit[]"),
    Case("query-nul", get(f"{_LIST}?state=%00"), 422, "state"),
    Case("query-no-number", get(f"{_LIST}?limit=NaN"), 422, "limit"),
    Case("query-broken-escape", get(f"{_LIST}?limit=%zz"), 422, "limit"),
    Case("query-other-digits", get(f"{_LIST}?limit=%D9%A1%D9%A9"), 422, "limit"),
    Case("query-twice", get(f"{_LIST}?limit=1&limit=2"), 200),
    Case(
        "smuggled-request",
        get("/healthz").replace(_CLOSE, b"Content-Length: 34") + b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n",
        200,
        "alive",
    ),
    Case("body-of-a-question", get(_LIST, b"Content-Length: 5") + b"hello", 200),
    Case("body-of-a-question-missing", get(_LIST, b"Content-Length: 5"), 200),
    Case("body-of-a-removal", get(f"{_LIST}/x-aaaaaa", b"Content-Length: 5", method="DELETE") + b"hello", 404),
]

CASES: Final = [*LENGTHS, *FIELDS, *LINES]
