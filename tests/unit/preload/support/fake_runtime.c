// SPDX-License-Identifier: Apache-2.0
/* Stands for one version of a library that several versions of may be loaded (FAKE_RUNTIME_VERSION). */
int fake_runtime_version(void) { return FAKE_RUNTIME_VERSION; }
