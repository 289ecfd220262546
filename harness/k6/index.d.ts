// Types of Prony's k6 extension, for editors and type checkers: reference this file, or copy it next to a script.
//
//   /// <reference path="../../harness/k6/index.d.ts" />
//   import queue from 'k6/x/prony';

declare module 'k6/x/prony' {
  /** A duration: milliseconds, or a string such as '1m30s', as in k6's options. */
  export type Duration = number | string;

  /** The payload of a task. Any other object is sent as JSON. */
  export type Payload = string | ArrayBuffer | Uint8Array | object;

  /**
   * Parameters of the connections to a server. They connect at the first call. Exception: without a token, connect() asks the server in the
   * init context whether it requires one, and throws if it does.
   */
  export interface ConnectOptions {
    /** The gRPC address, host:port or unix:/path; for a cluster several, separated by commas. Default: PRONY_ADDRESS, or 127.0.0.1:7070. */
    address?: string;
    /** The admin address, host:port. Default: PRONY_ADMIN, or 127.0.0.1:7071. */
    admin?: string;
    /** The secret of an access token. Default: PRONY_TOKEN; for a server on this host, its operators' token in ./data (or QUEUED_DATA); otherwise none. */
    token?: string;
    /** The tenant of calls without a tenant. Default: 'default'. */
    tenant?: string;
    /** Encrypts the connections. true trusts the system's authorities. */
    tls?: boolean | TLSOptions;
    /** Allows sending the token to another host without TLS, although others on the network can read it. Default: false. */
    plaintextToken?: boolean;
    /** How many connections the VUs of this process share, 1 to 64. Default: 1. */
    connections?: number;
    /** The timeout of a call. Default: '30s'. */
    timeout?: Duration;
    /**
     * How long to retry a call that was not executed while the server is unreachable. Default: 0, which fails immediately; 30 s with
     * several addresses.
     */
    retry?: Duration;
    /**
     * Whether the ledger records each task. The extension then prepends 32 bytes to the payload, which a claim removes.
     * Set it to false if other programs claim the tasks. Default: true.
     */
    ledger?: boolean;
  }

  export interface TLSOptions {
    /** PEM of the authorities to trust. Default: the system's. */
    ca?: string;
    /** PEM of the client certificate and of its key: both or neither. */
    cert?: string;
    key?: string;
    /** The expected name in the server's certificate. Default: the host of the address. */
    serverName?: string;
  }

  /** One task, or `count` equal tasks. */
  export interface NewTask {
    queue: string;
    /** The payload. Pass this or a `size`. */
    payload?: Payload;
    /** The size of a generated payload that the ledger can check: 32 to 1,048,576 bytes, including the ledger's 32 bytes. */
    size?: number;
    /** The number of these tasks, 1 to 1,000. Default: 1, or the number of due tasks. */
    count?: number;
    /** 0 to 9; 9 is delivered first. Default: 0. */
    priority?: number;
    /** The time until the task becomes ready. Default: 0. */
    delay?: Duration;
    /** The number of failed attempts after which the task is dead. Default: the queue's policy. */
    maxAttempts?: number;
    /** The lease of claims without a lease. Default: the queue's policy. */
    lease?: Duration;
    /** The task expires after this time. Default: never. */
    ttl?: Duration;
    /** How long the server stores the result of the completed task. Default: the queue's policy. */
    resultRetention?: Duration;
    /**
     * An idempotency key of at most 128 bytes: a second task with the same key is not stored and gets the first one's id. The ledger
     * would report the second task as lost: if keys repeat, connect with `ledger: false`.
     */
    key?: string;
    /**
     * Texts for the worker, at most 32 with at most 4 KiB together. A key has 1 to 64 characters of a-z, 0-9 and "-_."; a value has at most
     * 1,024 bytes without control characters.
     */
    headers?: { [key: string]: string };
    /** The kind of the task, by which the server lists tasks: the header 'kind'. */
    kind?: string;
    /** The ids of 1 to 100 tasks that must finish before this one is ready. */
    after?: string[];
    /** The task is the final task of a batch: it is ready once so many members have finished, 1 to 100,000. */
    batchSize?: number;
    /** The id of the final task of the batch that this task is a member of. */
    batch?: string;
    /** If a task that this one waits for dies: continue to wait, count it as finished, or die too. Default: wait. */
    deadDependency?: 'wait' | 'run' | 'die';
    /** The due times from Load.next(), from which latency is measured. Default: now. */
    due?: Due;
  }

  /** A leased task. */
  export interface Task {
    readonly id: string;
    readonly tenant: string;
    readonly queue: string;
    readonly priority: number;
    /** The number of the attempt, from 1. */
    readonly attempt: number;
    /** The end of the lease, in ms since 1970 by the server's clock. */
    readonly leaseUntil: number;
    /** The headers with which the task was enqueued. */
    readonly headers: { [key: string]: string };
    text(): string;
    json(): any;
    bytes(): ArrayBuffer;
  }

  /** Tasks to settle: all or some tasks of one claim. */
  export type Tasks = Task | Task[];

  export interface ClaimOptions {
    /** The maximum number of tasks, 1 to 1,000. Default: 1. */
    max?: number;
    /** How long to wait for the first task. Default: '1s'. */
    wait?: Duration;
  }

  export interface UnaryClaimOptions extends ClaimOptions {
    queue?: string;
    queues?: string[];
    tenant?: string;
    lease?: Duration;
  }

  /** Operations on leased tasks. The promise rejects if the server refuses any task; the other tasks have been settled. */
  export interface Settler {
    /** Completes tasks. `result` is stored for result(), and requires a single task. */
    complete(tasks: Tasks, options?: { result?: Payload }): Promise<void>;
    /** Fails the attempt: the task is retried after the delay or the queue's backoff, or is dead after its last attempt. */
    fail(tasks: Tasks, options?: { reason?: string; delay?: Duration }): Promise<void>;
    /** Extends the lease to this duration from now. */
    extend(tasks: Tasks, options: { lease: Duration }): Promise<void>;
    /** Returns the task to its queue without using an attempt. It is ready after the delay. */
    release(tasks: Tasks, options?: { delay?: Duration }): Promise<void>;
  }

  /** The plain calls. Each is one request. */
  export interface Client extends Settler {
    /** Enqueues, and resolves to the ids. Rejects if the server refuses any task: the error lists the refused ones; the others are enqueued. */
    produce(tasks: NewTask | NewTask[], options?: { tenant?: string }): Promise<string[]>;
    /** Resolves to no tasks when the wait expires. */
    claim(options: UnaryClaimOptions): Promise<Task[]>;
    /** A session that enqueues over a stream. It opens at its first call, and belongs to this VU. */
    producer(options?: { tenant?: string; idempotent?: boolean }): Producer;
    /** A session to which the server pushes tasks. It opens at its first call, and belongs to this VU. */
    worker(options: WorkerOptions): Worker;
    /** Returns a task, with its state 'ready', 'delayed', 'leased', 'done' or 'dead'. */
    task(id: string, options?: { tenant?: string }): Promise<{ id: string; state: string; [field: string]: any }>;
    /** Waits until a task is done or dead, and resolves to its state and its result. */
    result(id: string, options?: { tenant?: string; wait?: Duration }): Promise<{ state: string; result: ArrayBuffer | null }>;
    readonly admin: Admin;
    /** Closes this VU's sessions. Later calls are errors. */
    close(): Promise<void>;
  }

  export interface Producer {
    produce(tasks: NewTask | NewTask[]): Promise<string[]>;
    close(): Promise<void>;
  }

  export interface WorkerOptions {
    queues: string[];
    /** The queues' relative shares of the slots while all have tasks: 1 to 100 each. Default: equal. */
    weights?: number[];
    /** The maximum number of leased, unsettled tasks of the session, 1 to 65,536. Default: 1. */
    slots?: number;
    /** Default: the lease of each task. */
    lease?: Duration;
    tenant?: string;
  }

  export interface Worker extends Settler {
    /** Resolves to no tasks when the wait expires. */
    claim(options?: ClaimOptions): Promise<Task[]>;
    /** Closes the session and releases tasks that were pushed but not claimed. */
    close(): Promise<void>;
  }

  /** Reads from the admin listener, with the answers of its REST API. */
  export interface Admin {
    status(): Promise<any>;
    queues(options?: { tenant?: string }): Promise<any[]>;
    queue(name: string, options?: { tenant?: string }): Promise<any>;
    tasks(options: { queue: string; tenant?: string; state?: string; limit?: number }): Promise<any[]>;
    dead(options: { queue: string; tenant?: string; limit?: number }): Promise<any[]>;
    /** The first 1,000 tenants. */
    tenants(): Promise<any[]>;
  }

  /** The load of a script. Under `prony run`, the scenario replaces these options. */
  export interface LoadOptions {
    tenants?: number;
    /** Queues of each tenant. */
    queues?: number;
    /** The number of producing and of working VUs. */
    producers?: number;
    workers?: number;
    /** Maximum number of tasks per call, 1 to 1,000. */
    batch?: number;
    /** Bytes of each payload, at least 32. Default: 64. */
    size?: number;
    /**
     * 'closed', or a schedule: a rate per second, a ramp, or bursts. A process with an execution segment of the test has its
     * share of the rates. Default: 'closed'.
     */
    arrivals?:
      | 'closed'
      | { rate: number }
      | { from: number; to: number; over: Duration }
      | { rate: number; burst: number; every: Duration; length: Duration };
    /** The maximum number of sent, uncompleted tasks. Default: 100,000; unbounded for a closed load. */
    inFlight?: number;
    lease?: Duration;
    /** The time before the window, in which tasks are sent but not timed. Default: 0. */
    warmup?: Duration;
    window?: Duration;
    /** The maximum time after the window for completing the remaining tasks. Default: '30s'. */
    drain?: Duration;
  }

  /** The number of tasks to send together, with their due times. */
  export interface Due {
    readonly length: number;
  }

  /**
   * The load of this process, shared by all its VUs. It begins with the first call of a VU, after setup.
   * Latencies are measured from the time when a task was due.
   */
  export interface Load {
    /** The names of the tenants, and of each tenant's queues. */
    readonly tenants: string[];
    readonly queues: string[];
    readonly producers: number;
    readonly workers: number;
    readonly batch: number;
    readonly size: number;
    readonly lease: number;
    /** The time of warm-up and window, for the duration of producing VUs: 'Nms'. */
    readonly sending: string;
    /** The time of warm-up, window and drain. */
    readonly whole: string;
    /** Waits until tasks are due, and resolves to at most n of them, or to null after the end of the window. */
    next(n?: number): Promise<Due | null>;
    /** Whether the window has ended, and either no task is outstanding or the drain has ended. */
    done(): boolean;
  }

  /** The balance of this process's ledger. */
  export interface Balance {
    readonly sent: number;
    readonly enqueued: number;
    readonly completed: number;
    /** Sent, but neither refused nor completed. */
    readonly outstanding: number;
    /** Enqueued and not completed. Only meaningful after the drain. */
    readonly lost: number;
    readonly duplicated: number;
    readonly corrupted: number;
    readonly misrouted: number;
    /** Tasks whose enqueue (unknown) or completion (inDoubt) was never answered. */
    readonly unknown: number;
    readonly inDoubt: number;
    /** Descriptions of some tasks at fault. */
    readonly samples: string[];
  }

  export function connect(options?: ConnectOptions): Client;
  /** Defines the load of this process. Call it in the init context. */
  export function load(options: LoadOptions): Load;
  /** Returns the current balance. */
  export function balance(): Balance;
  /** Returns a unique name of this load host, from PRONY_INSTANCE or k6's execution segment. The name is 'i0' if there is only one. */
  export function instance(): string;

  const queue: { connect: typeof connect; load: typeof load; balance: typeof balance; instance: typeof instance };
  export default queue;
}
