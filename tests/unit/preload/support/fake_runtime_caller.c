// SPDX-License-Identifier: Apache-2.0
/* A library that is linked with one version of the runtime. */
int fake_runtime_version(void);
int fake_call_runtime(void) { return fake_runtime_version() + 0; }
