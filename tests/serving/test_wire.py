"""How an answer's copy is read, whichever way its server breaks lines."""

import pytest

from serving.proxy.wire import objects

ONE = b'{"a":1}'


@pytest.mark.parametrize(
    "answer",
    [
        b": ping\r\n\r\ndata: " + ONE + b"\r\n\r\ndata: [DONE]\r\n\r\n",
        b": ping\r\rdata: " + ONE + b"\r\r",
        b'event: x\nid: 1\nretry: 5\ndata: {"a":\ndata: 1}\n\n',
        b"data:" + ONE + b"\n\n",
        b"\xef\xbb\xbfdata: " + ONE + b"\n\n",
        b"data: " + ONE + b"\r\n\n: ping\n\r\n",
        b"data: " + ONE,
        b"\xef\xbb\xbf " + ONE,
        ONE + b'\n{"b":',
        b"[" + ONE + b',\n{"b":',
    ],
)
def test_the_one_whole_object_is_found(answer: bytes) -> None:
    assert list(objects(answer)) == [{"a": 1}]
