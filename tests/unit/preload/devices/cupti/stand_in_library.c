// SPDX-License-Identifier: Apache-2.0
// A library with the names that are looked for, and nothing in them.
#define NAME(name) \
  int name(void) { return 0; }
NAME(cuptiSubscribe)
NAME(cuptiUnsubscribe)
NAME(cuptiEnableCallback)
NAME(cuptiActivityRegisterCallbacks)
NAME(cuptiActivityEnable)
NAME(cuptiActivityDisable)
NAME(cuptiActivityFlushAll)
NAME(cuptiActivityGetNextRecord)
NAME(cuptiActivityGetNumDroppedRecords)
NAME(cuptiGetTimestamp)
NAME(cuptiGetVersion)
NAME(cuptiGetResultString)
