// SPDX-License-Identifier: Apache-2.0
// What each unit test begins with, compiled once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
