#!/bin/sh
# mochi-mqtt delivers what it kept for a session in any order: 200 messages of QoS 1, numbered, come back shuffled.
#
# One would guess: messages of one publisher and topic reach a subscriber in the order they were sent, as MQTT asks of a broker, also
# those that were kept while it was away.
# So it is: kept messages are sorted by the second they came in, and those of one second are in the order of a hash table. All 200 arrive,
# each once; a subscriber that was there all the time has them in order. A test of a reconnect that looks at sequence numbers counts
# losses and late messages where there are none, and a receiver that keeps the last value has an old one.
#
# Needs root, for a network namespace of its own. Uses github.com/mochi-mqtt/server/v2 v2.7.9 and github.com/eclipse/paho.mqtt.golang
# v1.5.1 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log || exit 2
go get github.com/mochi-mqtt/server/v2@v2.7.9 2> log || { cat log >&2; exit 2; }
go get github.com/eclipse/paho.mqtt.golang@v1.5.1 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
)

const (
	address  = "127.0.0.1:18830"
	messages = 200
)

func must(token paho.Token) {
	if token.Wait(); token.Error() != nil {
		panic(token.Error())
	}
}

func connect(id string, clean bool, received chan int) paho.Client {
	options := paho.NewClientOptions().AddBroker("tcp://" + address).SetClientID(id).SetCleanSession(clean).SetOrderMatters(true)
	options.SetDefaultPublishHandler(func(_ paho.Client, message paho.Message) {
		var number int
		fmt.Sscan(string(message.Payload()), &number)
		received <- number
	})
	client := paho.NewClient(options)
	must(client.Connect())
	return client
}

// Messages that arrive, different ones among them, and how many come behind a later one.
func trial(name string, away bool) (int, int, int) {
	received := make(chan int, 10*messages)
	subscriber := connect(name, false, received)
	must(subscriber.Subscribe(name, 1, nil))
	if away {
		subscriber.Disconnect(250)
	}
	publisher := connect("publisher-"+name, true, received)
	for number := range messages {
		must(publisher.Publish(name, 1, false, fmt.Sprint(number)))
	}
	if away {
		subscriber = connect(name, false, received)
	}
	different := map[int]bool{}
	late, last, count := 0, -1, 0
	for waiting := true; waiting; {
		select {
		case number := <-received:
			count++
			different[number] = true
			if number < last {
				late++
			}
			last = max(last, number)
		case <-time.After(2 * time.Second):
			waiting = false
		}
	}
	subscriber.Disconnect(250)
	publisher.Disconnect(250)
	fmt.Printf("subscriber %s: %d messages of %d, %d different, %d behind a later one\n", name, count, messages, len(different), late)
	return count, len(different), late
}

func main() {
	server := mqtt.New(&mqtt.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	server.AddHook(new(auth.AllowHook), nil)
	if err := server.AddListener(listeners.NewTCP(listeners.Config{ID: "try", Address: address})); err != nil {
		panic(err)
	}
	go server.Serve()
	time.Sleep(time.Second)
	fmt.Println("mochi-mqtt", mqtt.Version)
	count, different, late := trial("there", false)
	kept, all, shuffled := trial("away", true)
	if count != messages || different != messages || late != 0 || kept != messages || all != messages || shuffled < 20 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . 2> log || { cat log >&2; exit 2; }
cat > try.sh <<'END'
ip link set lo up
exec ./try
END
unshare -n sh try.sh
