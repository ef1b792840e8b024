#!/usr/bin/env python3
"""A peer that announces and finds services by python-zeroconf, on the loopback interface.

    zeroconf_peer.py browse TYPE                              one line of JSON for each thing that happens
    zeroconf_peer.py announce TYPE INSTANCE PORT [KEY=VALUE…] says {"event": "announced"}; each further line on standard
                                                              input is a new KEY=VALUE…, its end is goodbye
    zeroconf_peer.py types                                    the service types that anybody announces, one line each

Values of TXT records are in hexadecimal; null is a key without one.
"""

import json
import socket
import sys

from zeroconf import ServiceBrowser, ServiceInfo, ServiceStateChange, Zeroconf, ZeroconfServiceTypes

INTERFACES = ["127.0.0.1"]


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def browse(zeroconf, kind):
    def changed(zeroconf, service_type, name, state_change):
        instance = name.removesuffix("." + service_type)
        if state_change is ServiceStateChange.Removed:
            say("lost", instance=instance)
            return
        info = zeroconf.get_service_info(service_type, name, 5000)
        if info is None:
            say("unresolved", instance=instance)
            return
        say(
            "found",
            instance=instance,
            port=info.port,
            addresses=info.parsed_addresses(),
            attributes={
                key.decode(): None if value is None else value.hex() for key, value in info.properties.items()
            },
            text=info.text.hex(),
        )

    ServiceBrowser(zeroconf, kind, handlers=[changed])
    sys.stdin.read()


def announce(zeroconf, kind, instance, port, *attributes):
    def service(attributes):
        pairs = (attribute.partition("=") for attribute in attributes)
        return ServiceInfo(
            kind,
            f"{instance}.{kind}",
            addresses=[socket.inet_aton("127.0.0.1")],
            port=int(port),
            properties={key: value if equals else None for key, equals, value in pairs},
            server=f"zeroconf-{port}.local.",
        )

    info = service(attributes)
    zeroconf.register_service(info)
    say("announced")
    for line in sys.stdin:
        info = service(line.split())
        zeroconf.update_service(info)
        say("announced")
    zeroconf.unregister_service(info)


def main(command, *arguments):
    if command == "types":
        print("\n".join(ZeroconfServiceTypes.find(interfaces=INTERFACES, timeout=2)))
        return
    with Zeroconf(interfaces=INTERFACES) as zeroconf:
        kind, *rest = arguments
        {"browse": browse, "announce": announce}[command](zeroconf, f"{kind}.local.", *rest)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
