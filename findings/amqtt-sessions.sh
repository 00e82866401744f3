#!/bin/sh
# amqtt forgets a session that shall last as soon as its client is away: QoS 1 messages are acknowledged and reach nobody.
#
# One would guess: a client without "clean session" finds its subscriptions when it comes back, and the messages of QoS 1 that came
# meanwhile.
# So it is: the broker says "no session present", the subscriptions are gone, and of ten messages, each acknowledged to its publisher, the
# client gets none, then or later. The first connection was accepted with "clean session" 0 all the same. mosquitto keeps both. A
# test of failover against this broker, which is easy to start from Python, shows a loss of all that was sent in a break.
#
# Uses amqtt 0.12.1 and paho-mqtt 2.1.0 from PyPI, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install --no-compile amqtt==0.12.1 paho-mqtt==2.1.0 || exit 2
cat > try.py <<'END'
import asyncio
import logging
import sys
import time
from importlib.metadata import version

from amqtt.broker import Broker
from paho.mqtt import client as mqtt

logging.disable(logging.CRITICAL)
PORT = 18830
PLUGINS = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}


def wait(condition):
    for _ in range(100):
        if condition():
            return True
        time.sleep(0.05)
    return False


def connect(name, clean):
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=name, clean_session=clean)
    client.present, client.got, client.granted = None, [], False

    def connected(client, _user, flags, _reason, _properties):
        client.present = flags.session_present

    def subscribed(client, *_):
        client.granted = True

    client.on_connect, client.on_subscribe = connected, subscribed
    client.on_message = lambda client, _user, message: client.got.append(message.payload.decode())
    client.connect("127.0.0.1", PORT)
    client.loop_start()
    assert wait(lambda: client.present is not None)
    return client


def work():
    first = connect("sub", False)
    first.subscribe("topic", 1)
    assert wait(lambda: first.granted)
    publisher = connect("pub", True)
    publisher.publish("topic", "there", 1).wait_for_publish(5)
    assert wait(lambda: first.got)
    first.disconnect()
    first.loop_stop()
    time.sleep(1)
    sent = [publisher.publish("topic", f"away {number}", 1) for number in range(10)]
    wait(lambda: all(message.is_published() for message in sent))
    acknowledged = sum(message.is_published() for message in sent)
    second = connect("sub", False)
    publisher.publish("topic", "back", 1).wait_for_publish(5)
    time.sleep(2)
    for client in (second, publisher):
        client.disconnect()
        client.loop_stop()
    return first.got, acknowledged, second.present, second.got


async def main():
    broker = Broker({"listeners": {"default": {"type": "tcp", "bind": f"127.0.0.1:{PORT}"}}, "plugins": PLUGINS})
    await broker.start()
    seen = await asyncio.get_running_loop().run_in_executor(None, work)
    await broker.shutdown()
    return seen


print("amqtt", version("amqtt"))
got, acknowledged, present, later = asyncio.run(main())
print(f"before: {got}; away: {acknowledged} of 10 acknowledged; back: session present {present}, received {later}")
sys.exit((got, acknowledged, bool(present), later) != (["there"], 10, False, []))
END
venv/bin/python try.py
