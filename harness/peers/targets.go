// Package peers has the queue servers that Prony measures beside its own. Each is a program.Target; the program cmd/prony-peers serves them all.
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

// Targets returns all targets. A launch asks them for their descriptions in this order until it has found its own: RabbitMQ is last, since it
// takes the longest to say its version.
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
