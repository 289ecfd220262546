// Package peers contains the targets: the queue servers that Prony can measure through a driver
// program. Each is a program.Target; the driver program cmd/prony-peers serves all of them.
package peers

import (
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/asynq"
	"github.com/pronybench/prony/harness/peers/beanstalkd"
	"github.com/pronybench/prony/harness/peers/nats"
	"github.com/pronybench/prony/harness/peers/postgres"
	"github.com/pronybench/prony/harness/peers/prony"
	"github.com/pronybench/prony/harness/peers/rabbitmq"
	"github.com/pronybench/prony/harness/peers/redis"
	"github.com/pronybench/prony/harness/peers/river"
)

// Targets returns all targets. A launch asks them for their descriptions in this order until it
// finds its own. RabbitMQ is last, because its version takes the longest to determine.
func Targets() []program.Target {
	return []program.Target{
		prony.Target(),
		redis.Lists(),
		redis.Streams(),
		beanstalkd.Target(),
		nats.Target(),
		postgres.Target(),
		river.Target(),
		asynq.Target(),
		rabbitmq.Classic(),
		rabbitmq.Quorum(),
	}
}
