// SPDX-License-Identifier: Apache-2.0
/* Stands for a library whose file name and folder are what a test is about. */
int stand_in_for_torch(void) { return 1; }
