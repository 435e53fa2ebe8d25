"""Streams that come as regularly as llama-server's, to measure the client with: `python -m benchmarks.streams`.

It answers every chat request with so many token events at a fixed rate, then usage, timings and `[DONE]`, and prints
its port first.
"""

import argparse
import asyncio
import json
import sys

TOKENS = 100


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gap_s: float) -> None:
    loop = asyncio.get_running_loop()
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            await reader.readexactly(length)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            due = loop.time()
            for _ in range(TOKENS):
                due += gap_s
                await asyncio.sleep(due - loop.time())
                _event(writer, {"choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]})
                await writer.drain()
            timings = {"prompt_n": 10, "prompt_ms": 5, "predicted_n": TOKENS, "predicted_ms": TOKENS * gap_s * 1000}
            _event(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            usage = {"completion_tokens": TOKENS, "prompt_tokens": 1000, "total_tokens": 1000 + TOKENS}
            _event(writer, {"choices": [], "usage": usage, "timings": timings})
            _chunk(writer, b"data: [DONE]\n\n")
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _event(writer: asyncio.StreamWriter, value: object) -> None:
    _chunk(writer, b"data: " + json.dumps(value).encode() + b"\n\n")


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def _serve(gap_s: float) -> None:
    server = await asyncio.start_server(lambda reader, writer: _answer(reader, writer, gap_s), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main(arguments: list[str]) -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=20.0, help="events a second and stream")
    asyncio.run(_serve(1 / parser.parse_args(arguments).rate))


if __name__ == "__main__":
    main(sys.argv[1:])
