// Drives a server of Open Traffic Generator by gosnappi: a flow of a thousand packets between two ports, over HTTP or gRPC.
//
//	go run . http://127.0.0.1:8443 ring:a ring:b
//	go run . grpc://127.0.0.1:40051 ring:a ring:b
package main

import (
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/open-traffic-generator/snappi/gosnappi"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func transmit(api gosnappi.Api, state gosnappi.StateTrafficFlowTransmitStateEnum) {
	control := gosnappi.NewControlState()
	control.Traffic().FlowTransmit().SetState(state)
	must(api.SetControlState(control))
}

func main() {
	server := os.Args[1]
	api := gosnappi.NewApi()
	if location, isGrpc := strings.CutPrefix(server, "grpc://"); isGrpc {
		api.NewGrpcTransport().SetLocation(location).SetRequestTimeout(10 * time.Second)
	} else {
		api.NewHttpTransport().SetLocation(server).SetVerify(false)
	}
	config := gosnappi.NewConfig()
	config.Ports().Add().SetName("p").SetLocation(os.Args[2])
	config.Ports().Add().SetName("q").SetLocation(os.Args[3])
	flow := config.Flows().Add().SetName("f")
	flow.TxRx().Port().SetTxName("p").SetRxNames([]string{"q"})
	ethernet := flow.Packet().Add().Ethernet()
	ethernet.Src().SetValue("02:00:00:00:00:01")
	ethernet.Dst().SetValue("02:00:00:00:00:02")
	ipv4 := flow.Packet().Add().Ipv4()
	ipv4.Src().SetValue("10.0.0.1")
	ipv4.Dst().Increment().SetStart("10.0.1.1").SetCount(100)
	flow.Packet().Add().Udp().DstPort().SetValues([]uint32{6000, 6001})
	flow.Size().SetFixed(128)
	flow.Rate().SetPps(5000)
	flow.Duration().FixedPackets().SetPackets(1000)
	flow.Metrics().SetEnable(true)
	must(api.SetConfig(config))
	transmit(api, gosnappi.StateTrafficFlowTransmitState.START)
	request := gosnappi.NewMetricsRequest()
	request.Flow().SetFlowNames([]string{"f"})
	for tries := 0; tries < 100; tries++ {
		metric := must(api.GetMetrics(request)).FlowMetrics().Items()[0]
		if metric.Transmit() == gosnappi.FlowMetricTransmit.STOPPED {
			fmt.Println(metric.FramesTx(), metric.FramesRx())
			must(api.SetConfig(gosnappi.NewConfig()))
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	log.Fatal("the flow does not end")
}
