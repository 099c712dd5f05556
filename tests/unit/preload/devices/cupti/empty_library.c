// SPDX-License-Identifier: Apache-2.0
// A library of the right name with none of the names that are looked for.
int cupti_of_another_world(void) { return 0; }
