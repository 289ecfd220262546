// Types of Prony's k6 extension, for editors and checkers: reference this file, or copy it beside a script.
//
//   /// <reference path="../../harness/k6/index.d.ts" />
//   import queue from 'k6/x/prony';

declare module 'k6/x/prony' {
  /** A duration: milliseconds, or a string as in k6's options, '1m30s'. */
  export type Duration = number | string;

  /** What a task carries. An object that is none of these is sent as JSON. */
  export type Payload = string | ArrayBuffer | Uint8Array | object;

  /**
   * How to reach a server. Nothing is connected before the first call, but where there is no token: then connect() asks the server, while the
   * script is read, whether it wants one, and throws if it does.
   */
  export interface ConnectOptions {
    /** The gRPC address, host:port or unix:/path; of a cluster several with commas between them. Default: PRONY_ADDRESS, or 127.0.0.1:7070. */
    address?: string;
    /** The admin address, host:port. Default: PRONY_ADMIN, or 127.0.0.1:7071. */
    admin?: string;
    /** The secret of an access token. Default: PRONY_TOKEN, or of a server on this host what it keeps in ./data, or none. */
    token?: string;
    /** The tenant of calls that name none. Default: 'default'. */
    tenant?: string;
    /** Encrypts the connections. true trusts the system's authorities. */
    tls?: boolean | TLSOptions;
    /** Lets the token go to another host without TLS, where everybody on the way can read it. Default: false. */
    plaintextToken?: boolean;
    /** How many connections the VUs of this process share, 1 to 64. Default: 1. */
    connections?: number;
    /** How long a call may take at most. Default: '30s'. */
    timeout?: Duration;
    /**
     * For how long a call that was not done is tried again where the server can't be reached. Default: 0, which fails at
     * once; with several addresses 30 s.
     */
    retry?: Duration;
    /**
     * Whether each task is entered in the ledger. Its payload then has 32 bytes before it, which a claim takes off again;
     * set it to false where others than this script claim the tasks. Default: true.
     */
    ledger?: boolean;
  }

  export interface TLSOptions {
    /** PEM of the authorities to trust. Default: the system's. */
    ca?: string;
    /** PEM of the certificate to show, and of its key: both or neither. */
    cert?: string;
    key?: string;
    /** The name that the server's certificate must have. Default: that of the address. */
    serverName?: string;
  }

  /** One task, or `count` alike. */
  export interface NewTask {
    queue: string;
    /** What the task carries: this, or a `size`. */
    payload?: Payload;
    /** As many bytes that the ledger can check, 32 to 1,048,576, its own among them. */
    size?: number;
    /** How many of these tasks, 1 to 1,000. Default: 1, or as many as are due. */
    count?: number;
    /** 0 to 9; 9 is the most urgent. Default: 0. */
    priority?: number;
    /** When the task becomes ready. Default: at once. */
    delay?: Duration;
    /** After how many failed attempts the task is dead. Default: the queue's policy. */
    maxAttempts?: number;
    /** Of a claim that names none. Default: the queue's policy. */
    lease?: Duration;
    /** How long the task is worth doing. Default: for ever. */
    ttl?: Duration;
    /** How long its result is kept once it is completed. Default: the queue's policy. */
    resultRetention?: Duration;
    /**
     * An idempotency key of at most 128 bytes: a second task with it stores nothing and gets the first one's id. The ledger would
     * miss that second task: where keys repeat, connect with `ledger: false`.
     */
    key?: string;
    /** When the tasks were due, of Load.next(): latency counts from then. Default: now. */
    due?: Due;
  }

  /** A leased task. */
  export interface Task {
    readonly id: string;
    readonly tenant: string;
    readonly queue: string;
    readonly priority: number;
    /** 1 at the first. */
    readonly attempt: number;
    /** The lease's end, in ms since 1970 by the server's clock. */
    readonly leaseUntil: number;
    text(): string;
    json(): any;
    bytes(): ArrayBuffer;
  }

  /** Tasks to settle: those of one claim, or some of them. */
  export type Tasks = Task | Task[];

  export interface ClaimOptions {
    /** How many at most, 1 to 1,000. Default: 1. */
    max?: number;
    /** How long to wait for the first. Default: '1s'. */
    wait?: Duration;
  }

  export interface UnaryClaimOptions extends ClaimOptions {
    queue?: string;
    queues?: string[];
    tenant?: string;
    lease?: Duration;
  }

  /** What can be done with leased tasks. Each rejects if the server refuses any of them, and has done the others. */
  export interface Settler {
    /** The work is done. `result` is kept for those who wait for it, for one task. */
    complete(tasks: Tasks, options?: { result?: Payload }): Promise<void>;
    /** The work failed: the task is retried, after a delay or the queue's backoff, or dead after its last attempt. */
    fail(tasks: Tasks, options?: { reason?: string; delay?: Duration }): Promise<void>;
    /** The lease holds for so long from now. */
    extend(tasks: Tasks, options: { lease: Duration }): Promise<void>;
    /** The task goes back without using up an attempt, and is ready after a delay. */
    release(tasks: Tasks, options?: { delay?: Duration }): Promise<void>;
  }

  /** The plain calls: each is one request. */
  export interface Client extends Settler {
    /** Enqueues, and resolves to the ids. Rejects if the server refuses any, which says which; the others are enqueued. */
    produce(tasks: NewTask | NewTask[], options?: { tenant?: string }): Promise<string[]>;
    /** Resolves to no task when the wait is over. */
    claim(options: UnaryClaimOptions): Promise<Task[]>;
    /** A session that enqueues over a stream. It opens at its first call, and belongs to this VU. */
    producer(options?: { tenant?: string; idempotent?: boolean }): Producer;
    /** A session to which the server pushes tasks. It opens at its first call, and belongs to this VU. */
    worker(options: WorkerOptions): Worker;
    /** Where a task stands: its state is 'ready', 'delayed', 'leased', 'done' or 'dead'. */
    task(id: string, options?: { tenant?: string }): Promise<{ id: string; state: string; [field: string]: any }>;
    /** Waits until a task is done or dead, and resolves to its state and its result. */
    result(id: string, options?: { tenant?: string; wait?: Duration }): Promise<{ state: string; result: ArrayBuffer | null }>;
    readonly admin: Admin;
    /** Ends what this VU has open. Calls after it are errors. */
    close(): Promise<void>;
  }

  export interface Producer {
    produce(tasks: NewTask | NewTask[]): Promise<string[]>;
    close(): Promise<void>;
  }

  export interface WorkerOptions {
    queues: string[];
    /** How the queues share the slots while all have tasks: 1 to 100 each. Default: equal. */
    weights?: number[];
    /** How many tasks the session holds at most, leased and not settled, 1 to 65,536. Default: 1. */
    slots?: number;
    /** Default: each task's own. */
    lease?: Duration;
    tenant?: string;
  }

  export interface Worker extends Settler {
    /** Resolves to no task when the wait is over. */
    claim(options?: ClaimOptions): Promise<Task[]>;
    /** Gives back what nobody claimed. */
    close(): Promise<void>;
  }

  /** Reads of the admin listener, whose answers are the REST API's. */
  export interface Admin {
    status(): Promise<any>;
    queues(options?: { tenant?: string }): Promise<any[]>;
    queue(name: string, options?: { tenant?: string }): Promise<any>;
    tasks(options: { queue: string; tenant?: string; state?: string; limit?: number }): Promise<any[]>;
    dead(options: { queue: string; tenant?: string; limit?: number }): Promise<any[]>;
    tenants(): Promise<any[]>;
  }

  /** What a script is to do. Under `prony run` the scenario says it, and otherwise these. */
  export interface LoadOptions {
    tenants?: number;
    /** Of each tenant. */
    queues?: number;
    /** VUs that produce, and that work. */
    producers?: number;
    workers?: number;
    /** Tasks in a call, 1 to 1,000. */
    batch?: number;
    /** Bytes of each payload, at least 32. Default: 64. */
    size?: number;
    /**
     * 'closed', or when tasks are due: a rate a second, a ramp, or bursts. A process that k6 gives a segment of the test has its
     * share of the rates. Default: 'closed'.
     */
    arrivals?:
      | 'closed'
      | { rate: number }
      | { from: number; to: number; over: Duration }
      | { rate: number; burst: number; every: Duration; length: Duration };
    /** Tasks sent and not completed, at most. Default: 100,000, and of a closed load no bound. */
    inFlight?: number;
    lease?: Duration;
    /** What is due before the window is sent and not timed. Default: 0. */
    warmup?: Duration;
    window?: Duration;
    /** How long after the window the rest may take. Default: '30s'. */
    drain?: Duration;
  }

  /** The tasks that are to be sent together, and when they were due. */
  export interface Due {
    readonly length: number;
  }

  /**
   * The load of this process: the same for all of its VUs. It begins with the first call that a VU makes, after setup.
   * Latencies count from when a task was due.
   */
  export interface Load {
    /** Names. */
    readonly tenants: string[];
    readonly queues: string[];
    readonly producers: number;
    readonly workers: number;
    readonly batch: number;
    readonly size: number;
    readonly lease: number;
    /** Warm-up and window, for the duration of those that produce: 'Nms'. */
    readonly sending: string;
    /** Warm-up, window and drain. */
    readonly whole: string;
    /** Waits until tasks are to be sent, up to n. Resolves to null when the window is over. */
    next(n?: number): Promise<Due | null>;
    /** Whether the window is over, and nothing is outstanding or the drain's time is up. */
    done(): boolean;
  }

  /** The account of every task of this process that is entered in the ledger. */
  export interface Balance {
    readonly sent: number;
    readonly enqueued: number;
    readonly completed: number;
    /** Sent, and neither refused nor completed: what may still come. */
    readonly outstanding: number;
    /** Enqueued and not completed. It means what it says once all is drained. */
    readonly lost: number;
    readonly duplicated: number;
    readonly corrupted: number;
    readonly misrouted: number;
    /** It was never answered whether these were enqueued, or completed. */
    readonly unknown: number;
    readonly inDoubt: number;
    /** Some of the tasks at fault, named. */
    readonly samples: string[];
  }

  export function connect(options?: ConnectOptions): Client;
  /** Says what this process's load is. Call it once, in the init context. */
  export function load(options: LoadOptions): Load;
  /** The account as it stands. */
  export function balance(): Balance;
  /** A name for this load host among several, from PRONY_INSTANCE or k6's execution segment: 'i0' where there is one. */
  export function instance(): string;

  const queue: { connect: typeof connect; load: typeof load; balance: typeof balance; instance: typeof instance };
  export default queue;
}
