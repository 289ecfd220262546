package hosts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Constants of ICMP echo messages.
const (
	echoRequest, echoReply = 8, 0
	echoHeader             = 8
	// pingBytes is the size of an echo message in bytes. It is as small as a heartbeat.
	pingBytes = 56
	// ipHeader is the size of an IPv4 header without options. In replies the header precedes the
	// message.
	ipHeader = 20
)

// pinger sends echo requests to another host. It sends them from the host in whose namespace its
// socket was opened. The kernel of the other host answers, so no process there is involved. The
// kernel of this host timestamps the answer, so the delay until this process reads the answer does
// not count.
type pinger struct {
	socket int
	id     uint16
	number uint16
}

// newPinger opens a socket in the namespace of the calling thread.
func newPinger(to string, id int) (*pinger, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		return nil, fmt.Errorf("open a socket for echoes: %w", err)
	}
	p := &pinger{socket: socket, id: uint16(id)}
	err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	if err == nil {
		err = unix.Connect(socket, &unix.SockaddrInet4{Addr: [4]byte(net.ParseIP(to).To4())})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a socket for echoes: %w", err), p.close())
	}
	return p, nil
}

func (p *pinger) close() error { return unix.Close(p.socket) }

// ping measures one round trip. answered is false if no answer arrived in time.
func (p *pinger) ping(timeout time.Duration) (trip time.Duration, answered bool, err error) {
	p.number++
	limit := unix.NsecToTimeval(int64(timeout))
	if err := unix.SetsockoptTimeval(p.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return 0, false, fmt.Errorf("send an echo request: %w", err)
	}
	message := make([]byte, pingBytes)
	message[0] = echoRequest
	binary.BigEndian.PutUint16(message[4:], p.id)
	binary.BigEndian.PutUint16(message[6:], p.number)
	binary.BigEndian.PutUint16(message[2:], checksum(message))
	began := time.Now()
	if err := unix.Send(p.socket, message, 0); err != nil {
		return 0, false, fmt.Errorf("send an echo request: %w", err)
	}
	for time.Since(began) < timeout {
		came, ours, err := p.receive()
		switch {
		case errors.Is(err, unix.EAGAIN):
			return 0, false, nil
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, false, fmt.Errorf("wait for an echo reply: %w", err)
		case ours:
			return came.Sub(began.Round(0)), true, nil // both are times of the wall clock
		}
	}
	return 0, false, nil
}

// receive reads a message and returns when the message arrived. ours reports whether the message
// answers the last request.
func (p *pinger) receive() (came time.Time, ours bool, err error) {
	var message [ipHeader + pingBytes]byte
	var control [128]byte
	n, controls, _, _, err := unix.Recvmsg(p.socket, message[:], control[:], 0)
	if err != nil {
		return time.Time{}, false, err
	}
	notes, err := unix.ParseSocketControlMessage(control[:controls])
	if err != nil {
		return time.Time{}, false, err
	}
	for _, note := range notes {
		if note.Header.Level == unix.SOL_SOCKET && note.Header.Type == unix.SO_TIMESTAMPNS && len(note.Data) >= 16 {
			came = time.Unix(int64(binary.NativeEndian.Uint64(note.Data)), int64(binary.NativeEndian.Uint64(note.Data[8:])))
		}
	}
	if came.IsZero() {
		return time.Time{}, false, errors.New("the kernel sent no timestamp")
	}
	if n < ipHeader+echoHeader || message[ipHeader] != echoReply {
		return came, false, nil
	}
	m := message[ipHeader:]
	return came, binary.BigEndian.Uint16(m[4:]) == p.id && binary.BigEndian.Uint16(m[6:]) == p.number, nil
}

func checksum(message []byte) uint16 {
	var sum uint32
	for i := 0; i < len(message); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(message[i:]))
	}
	for sum>>16 > 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

type trips struct {
	all  []time.Duration
	lost int // number of unanswered requests
}

// percentile returns the smallest trip such that the given percentage of all trips do not exceed
// it.
func (t trips) percentile(percent float64) time.Duration {
	if len(t.all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.all))
	return sorted[max(1, int(math.Ceil(percent/100*float64(len(sorted)))))-1]
}
