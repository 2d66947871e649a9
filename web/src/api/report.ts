// The compile report of a bundle (`report.json`, written by `rlx_compiler.report`).

export interface Report {
  readonly model: string;
  readonly target: string;
  readonly cpu: string;
  readonly opt_level: number;
  readonly passes: readonly string[];
  readonly warnings: readonly string[];
  readonly kernels: readonly ReportKernel[];
  readonly fusion: readonly FusionChoice[];
  readonly memory: {
    readonly space: string;
    readonly workspace_bytes: number;
    readonly weights_bytes: number;
  };
}

export interface ReportKernel {
  readonly name: string;
  readonly ops: readonly string[];
  readonly flops: number;
  readonly bytes: number;
  readonly schedule: {
    readonly loops: readonly string[];
    readonly sums: readonly string[];
    readonly vectorize_dim: string | null;
    readonly lanes: number;
    readonly unrolled_dim: string | null;
    readonly packed: Readonly<Record<string, readonly number[]>>;
  };
  readonly asked: Readonly<Record<string, unknown>>;
  readonly reasons: readonly string[];
}

export interface FusionChoice {
  readonly producer: string;
  readonly consumer: string;
  readonly fused: boolean;
  readonly reason: string;
}
