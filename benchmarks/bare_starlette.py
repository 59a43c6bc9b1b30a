"""Routes of Starlette that know nothing and answer at once, served as the registry is: what is left is the server's cost.

python bare_starlette.py PORT FETCHED FOUND     the two are files: the answers of /schemas/ids/{id} and /subjects/{subject}
"""

import asyncio
import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from side_by_side.registry_requests import JSON
from stoker.broker.event_loop import new_event_loop


def application(fetched: bytes, found: bytes) -> Starlette:
    async def fetch(request: Request) -> Response:
        return Response(fetched, media_type=JSON)

    async def look_up(request: Request) -> Response:
        await request.body()
        return Response(found, media_type=JSON)

    return Starlette(
        routes=[Route("/schemas/ids/{schema_id}", fetch), Route("/subjects/{subject}", look_up, methods=["POST"])]
    )


def serve(port: int, fetched: Path, found: Path) -> None:
    config = uvicorn.Config(
        application(fetched.read_bytes(), found.read_bytes()),
        host="127.0.0.1",
        port=port,
        http="httptools",
        access_log=False,
        log_config=None,
        server_header=False,
    )
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
