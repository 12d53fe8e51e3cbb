"""A Hugging Face hub of one process: repositories with commits, as far as its client asks."""

import base64
import json
import re
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote

_API = re.compile(r"/api/(models|datasets)/([^/]+/[^/?]+)(?:/([a-z-]+)/([^/?]+))?")
_FILE = re.compile(r"/(?:(datasets)/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


class FakeHub:
    """Repositories by (type, id): a list of commits, each the files by name."""

    def __init__(self):
        self.repositories = {}
        self.created = []
        self.endpoint = ""

    def files(self, kind, repository, revision):
        """Return the files at a revision; KeyError where there is none."""
        commits = self.repositories[kind, repository]
        number = len(commits) if revision == "main" else int(revision, 16)
        return commits[number - 1] if number else {}

    def commit(self, kind, repository, lines):
        """Apply the operations of one commit."""
        files = dict(self.files(kind, repository, "main"))
        for operation in lines:
            value = operation["value"]
            if operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "deletedFile":
                del files[value["path"]]
        self.repositories[kind, repository].append(files)

    def head(self, kind, repository):
        """Return the newest commit's id."""
        return f"{len(self.repositories[kind, repository]):040x}"


@contextmanager
def fake_hub():
    """Serve a hub on this machine."""
    hub = FakeHub()

    class Handler(_Handler):
        state = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        path = unquote(self.path)
        try:
            if match := _FILE.match(path):
                self._file(*match.groups())
            else:
                self._look(*_API.match(path).groups())
        except KeyError:
            self._answer({"error": "Repository not found"}, 404, "RepoNotFound")

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path = unquote(self.path)
        if path == "/api/validate-yaml":
            self._answer({"errors": [], "warnings": []})
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        else:
            self._write(*_API.match(path).groups(), body)

    def _create(self, wanted):
        kind = wanted.get("type", "model") + "s"
        name = f"{wanted.get('organization') or 'me'}/{wanted['name']}"
        if (kind, name) not in self.state.repositories:
            self.state.created.append((kind, name, wanted.get("visibility")))
            self.state.repositories[kind, name] = []
        self._answer({"url": f"{self.state.endpoint}/{name}", "id": "1", "name": name})

    def _write(self, kind, repository, verb, _revision, body):
        if verb == "preupload":
            files = json.loads(body)["files"]
            told = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files
            ]
            self._answer({"files": told})
        else:
            self.state.commit(kind, repository, map(json.loads, body.splitlines()))
            commit = self.state.head(kind, repository)
            url = f"{self.state.endpoint}/{repository}/commit/{commit}"
            self._answer({"commitUrl": url, "commitOid": commit})

    def _look(self, kind, repository, verb, revision):
        revision = revision or "main"
        files = self.state.files(kind, repository, revision)
        if verb != "tree":
            head = self.state.head(kind, repository) if revision == "main" else revision
            self._answer({"id": repository, "sha": head, "siblings": [], "tags": []})
        else:
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
                for name, data in files.items()
            ]
            self._answer(tree)

    def _file(self, dataset, repository, revision, name):
        data = self.state.files(dataset or "models", repository, revision)[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def _answer(self, value, status=200, error=None):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if error:
            self.send_header("X-Error-Code", error)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments):
        """Say nothing."""
