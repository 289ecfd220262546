# Example configuration: /etc/queued/queued.hcl of queued.service.
#
# Omitted settings have their defaults. Flags and QUEUED_* variables override this file. Check it
# with 'queued config check FILE'; 'queued config show --config FILE' prints the settings in effect.

listen = ["127.0.0.1:7070", "unix:/run/queued/queued.sock"] # gRPC
http   = "127.0.0.1:7072"                                   # REST; "" switches it off
admin  = "127.0.0.1:7071"                                   # admin service, probes, metrics, profiles

# allowed_hosts = ["queue.example.com"] # the name that a proxy in front of http or admin sends

data       = "/var/lib/queued"
shards     = 1      # about one per processor; fixed when the data folder is created
durability = "sync" # fsync before each acknowledgement; or "interval", "none"
auth       = "on"

# To serve other hosts, set a certificate, and other addresses above, such as ":7070".
#
# tls {
#   cert      = "/etc/queued/cert.pem"
#   key       = "/etc/queued/key.pem"
#   client_ca = "/etc/queued/clients.pem" # only with mTLS
# }

# To form a cluster of three replicating nodes; each has a different id and its folder from 'queued
# cluster init'.
#
# cluster {
#   node   = "n1"
#   listen = "10.0.0.1:7073"
#   peers  = { n1 = "10.0.0.1:7073", n2 = "10.0.0.2:7073", n3 = "10.0.0.3:7073" }
#   certs  = "/etc/queued/cluster"
# }

# Defaults for tasks and queues that do not set these values.
queue {
  lease           = "30s"
  max_attempts    = 20
  backoff_initial = "1s"
  backoff_max     = "10m"
}

# Limits on calls and on memory.
limits {
  payload_max = "1MiB"
  lease_max   = "1d"
  cache_max   = "64MiB"
}

log {
  level  = "info"
  format = "json"
}
