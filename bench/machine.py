"""A judge's run over a server that answers in 20 ms: calls a second and memory, against bare threads.

The server is a separate process. Both sides make the same calls, 32 at a time: ours builds prompts, parses and
stores every answer; the bare one posts the same body repeatedly with http.client.
"""

import argparse
import http.client
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AT_ONCE = 32
SERVER = """
import asyncio, json, sys
BODY = json.dumps({"model": "m", "choices": [{"message": {"content": '{"grade": 1}'}, "finish_reason": "stop"}],
                   "usage": {"prompt_tokens": 100, "completion_tokens": 5}}).encode()
HEAD = b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n"
async def answer(reader, writer):
    try:
        head = await reader.readuntil(b"\\r\\n\\r\\n")
        size = int(head.lower().split(b"content-length:")[1].split(b"\\r\\n")[0])
        await reader.readexactly(size)
        await asyncio.sleep(0.02)
        writer.write(HEAD % len(BODY) + BODY)
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()
async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


def bare(port: int, calls: int) -> float:
    """Calls a second of threads that post and read, and do nothing else."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 1_500}]})

    def call(_) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        json.loads(connection.getresponse().read())
        connection.close()

    begun = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as lines:
        list(lines.map(call, range(calls)))
    return calls / (time.monotonic() - begun)


def ours(port: int, pairs: int) -> tuple[float, int, int]:
    """Calls a second of a run, and the most memory in MB before and after it."""
    from ratings.judges import runs, versions
    from ratings.models import Collection, Document, Grade, JudgeSample, Pair, Query

    made = Collection.objects.create(slug="bench", name="Bench")
    Grade.objects.bulk_create(Grade(collection=made, value=value) for value in range(4))
    depth = 100
    queries = Query.objects.bulk_create(
        Query(collection=made, key=f"q{i}", text=f"query {i}") for i in range(pairs // depth)
    )
    documents = Document.objects.bulk_create(
        Document(collection=made, key=f"d{i}", title=f"Document {i}", body="word " * 200) for i in range(depth)
    )
    rows = (Pair(query=query, document=document, wanted=1) for query in queries for document in documents)
    Pair.objects.bulk_create(rows, batch_size=2_000)
    version, _ = versions.make_version(
        versions.make_judge(made, "bench"), versions.VersionSettings("m", f"http://127.0.0.1:{port}/v1")
    )
    JudgeSample.objects.create(judge=version.judge, drawn=False)
    run = runs.start(version, "pool", {}, runs.Limits(2 * pairs, concurrency=AT_ONCE))
    before, begun = most(), time.monotonic()
    runs.work_due()
    took = time.monotonic() - begun
    run.refresh_from_db()
    if (run.state, run.graded) != ("done", pairs):
        raise SystemExit(f"The run is {run.state} with {run.graded} of {pairs} graded: {run.message}")
    return pairs / took, before, most()


def most() -> int:
    """The most memory that this process ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--small", action="store_true", help="2,000 pairs")
    chosen = parser.parse_args()
    pairs = 2_000 if chosen.small else chosen.pairs
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"IDEALIST_DATA": folder, "DATABASE_URL": "", "IDEALIST_PULL_HOSTS": "127.0.0.1/32"}
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
        try:
            port = int(server.stdout.readline())
            alone = bare(port, min(pairs, 10_000))
            rate, before, after = ours(port, pairs)
        finally:
            server.kill()
    print(f"{pairs:,} pairs, {AT_ONCE} at a time: {rate:,.0f} calls a second; bare threads {alone:,.0f}")
    print(f"{rate / alone:.2f} of the bare client; most memory {before} MB before the run, {after} MB after it")


if __name__ == "__main__":
    main()
