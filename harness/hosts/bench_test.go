package hosts

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// BenchmarkForwarder sends packets from one host to another, at a fixed rate or as fast as
// possible. It reports the delivered packets, the forwarder's CPU usage, and its lateness.
func BenchmarkForwarder(b *testing.B) {
	if missing := Probe().Missing(scenario.Hosts{}); missing != "" {
		b.Skip("not possible on this machine: ", missing)
	}
	for _, c := range []struct {
		name  string
		bytes int
		every time.Duration // for each group of ten packets; 0: at once
	}{
		{"10000 a second", 64, time.Millisecond},
		{"50000 a second", 64, 200 * time.Microsecond},
		{"small packets", 64, 0},
		{"large packets", 1400, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			n, err := Start(context.Background(), Config{Hosts: 2, Want: scenario.Hosts{RoundTrip: time.Millisecond}, Log: filepath.Join(b.TempDir(), "log")})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = n.Close() }()
			var conn *net.UDPConn
			if err := inside(n.Namespace(0), func() (err error) {
				conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(n.Address(0)), Port: 9000})
				return err
			}); err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			to, payload := &net.UDPAddr{IP: net.ParseIP(n.Address(1)), Port: 9000}, make([]byte, c.bytes)
			before, err := n.Count(true)
			if err != nil {
				b.Fatal(err)
			}
			began, sent := time.Now(), 0
			for time.Since(began) < 2*time.Second {
				for range 10 {
					_, _ = conn.WriteToUDP(payload, to) // a full queue refuses the packet
					sent++
				}
				if c.every > 0 {
					for due := began.Add(time.Duration(sent/10) * c.every); time.Now().Before(due); {
					}
				}
			}
			after, err := n.Count(false)
			if err != nil {
				b.Fatal(err)
			}
			m := n.Measured(before, after)
			seconds := after.at.Sub(before.at).Seconds()
			b.ReportMetric(float64(sent)/seconds, "sent/s")
			b.ReportMetric(float64(m.Packets)/seconds, "packets/s")
			b.ReportMetric(float64(m.Overflowed)/seconds, "dropped/s")
			b.ReportMetric(m.ForwarderCores, "CPUs")
			b.ReportMetric(m.LateUsP50, "late-us-p50")
			b.ReportMetric(m.LateUsP99, "late-us-p99")
			b.ReportMetric(n.Trips().FloorP50*1000, "floor-us")
			b.ReportMetric(n.Trips().P50*1000, "trip-us-p50")
			b.ReportMetric(n.Trips().P99*1000, "trip-us-p99")
			b.ReportMetric(0, "ns/op")
		})
	}
}
