#!/usr/bin/env python3
"""Publishes events to users of a gateway from a backend, over one kept connection. Needs Python's standard library only.

Usage: MESH_PUBLISH_TOKEN=… publish.py PORT USER TEXT…    publishes each text as a MESSAGE
"""

import http.client
import json
import os
import sys
import time
import urllib.parse
import uuid


class Refused(Exception):
    """The gateway won't do what was asked: see `code` and the message. Repeating the request changes nothing."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Publisher:
    """Not for several threads at once: give each thread its own."""

    def __init__(self, port, token, attempts=5):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.token, self.attempts = token, attempts

    def publish(self, user, kind, content):
        """Returns the number of the event in the user's stream."""
        return self.post(f"/publish/{urllib.parse.quote(user, safe='')}/{kind}", content)["s"]

    def publish_all(self, events):
        """Publishes up to 1,000 events: (user, kind, content). Returns their numbers."""
        return self.post("/publish", [{"user": user, "type": kind, "data": content} for user, kind, content in events])["s"]

    def disconnect(self, user):
        self.post(f"/disconnect/{urllib.parse.quote(user, safe='')}", None)

    def post(self, path, body):
        # The same key for each attempt: if an answer is lost, the next attempt returns it and publishes nothing twice.
        headers = {
            "Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
            "Idempotency-Key": uuid.uuid4().hex}
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(2 ** (attempt - 1))
            try:
                self.connection.request("POST", path, json.dumps(body).encode(), headers)
                answer = self.connection.getresponse()
                content = json.load(answer)
            except (OSError, http.client.HTTPException, ValueError) as error:
                # The next request opens a new connection.
                self.connection.close()
                failure = error
                continue
            if answer.status == 200:
                return content
            error = content["error"]
            if answer.status not in (409, 503):
                raise Refused(error["code"], error["message"])
            failure = Refused(error["code"], error["message"])
        raise failure


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__.strip())
    port, user, *texts = sys.argv[1:]
    publisher = Publisher(int(port), os.environ["MESH_PUBLISH_TOKEN"])
    print(*publisher.publish_all([(user, "MESSAGE", {"text": text}) for text in texts]))
