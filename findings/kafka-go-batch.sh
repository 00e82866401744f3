#!/bin/sh
# kafka-go's Writer takes a second for each message that is written alone.
#
# One would guess: WriteMessages of one message returns when the broker has it, on loopback within a few milliseconds, as with other clients.
# So it is: the writer waits for 100 messages or a second (`BatchTimeout`), and WriteMessages waits with it. A producer that writes one
# message after another sends one a second; one of ten goroutines that do so sends ten, and a test's latencies are all one second, whatever
# the broker does. `BatchTimeout: time.Millisecond` takes some two milliseconds. franz-go sends at once unless it is busy.
#
# Uses github.com/segmentio/kafka-go v0.4.51 and github.com/twmb/franz-go v1.22.3 with Go, and the latter's kfake
# v0.0.0-20260918054303-01f206a7e32c as the broker, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/segmentio/kafka-go@v0.4.51 2> log || { cat log >&2; exit 2; }
go get github.com/twmb/franz-go@v1.22.3 2> log || { cat log >&2; exit 2; }
go get github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const messages = 5

// fastest prints the times of messages that are written one after another, and returns the shortest.
func fastest(name string, write func() error) time.Duration {
	times := []time.Duration{}
	shortest := time.Hour
	for i := 0; i < messages; i++ {
		start := time.Now()
		if err := write(); err != nil {
			panic(err)
		}
		times = append(times, time.Since(start).Round(100*time.Microsecond))
		shortest = min(shortest, times[i])
	}
	fmt.Println(name, times)
	return shortest
}

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "test"))
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	writer := func(wait time.Duration) func() error {
		w := &kafka.Writer{Addr: kafka.TCP(cluster.ListenAddrs()...), Topic: "test", BatchTimeout: wait}
		return func() error { return w.WriteMessages(ctx, kafka.Message{Value: []byte("hello")}) }
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.DefaultProduceTopic("test"))
	if err != nil {
		panic(err)
	}
	usual := fastest("kafka-go, each message waits for the one before:", writer(0))
	short := fastest("kafka-go, BatchTimeout of 1 ms:", writer(time.Millisecond))
	franz := fastest("franz-go:", func() error {
		return client.ProduceSync(ctx, &kgo.Record{Value: []byte("hello")}).FirstErr()
	})
	if usual < 950*time.Millisecond || short > 500*time.Millisecond || franz > 500*time.Millisecond {
		os.Exit(1)
	}
}
END
go mod tidy 2> log || { cat log >&2; exit 2; }
go run .
