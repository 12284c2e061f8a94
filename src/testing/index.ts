// The published test kit: `import { probe } from "rowhouse/testing"`.

export { probe, type ProbeOptions } from "./probe.ts";
export { formatProbeReport, type ProbeCheck, type ProbeReport, type RouteReport } from "./probe-report.ts";
export { zeroCount, type ZeroCountOptions, type TableZeroCount, type ZeroCountReport } from "../doctor/zero-count.ts";
export { formatZeroCount } from "../doctor/zero-count-report.ts";
export { runDoctor, type DoctorOptions, type Finding, type FindingLevel } from "../doctor/doctor.ts";
