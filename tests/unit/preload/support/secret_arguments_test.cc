// SPDX-License-Identifier: Apache-2.0
#include "support/secret_arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tensorscope {
namespace {

std::vector<std::string> starred(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) line.append(argument).push_back('\0');
  line.resize(star_secrets(line.data(), line.size()));
  std::vector<std::string> out;
  for (size_t i = 0; i < line.size(); i += out.back().size() + 1) out.emplace_back(line.c_str() + i);
  return out;
}

std::string one(const std::string& argument) { return starred({argument}).front(); }

TEST(SecretArguments, ValuesOfOptions) {
  using Line = std::vector<std::string>;
  EXPECT_EQ(starred({"train.py", "--api-key", "abcdef", "--epochs", "3"}),
            (Line{"train.py", "--api-key", "***", "--epochs", "3"}));
  EXPECT_EQ(starred({"--hub_token=abcdef", "x"}), (Line{"--hub_token=***", "x"}));
  EXPECT_EQ(starred({"--password", "ab", "--wandbApiKey=0123456789", "--dbPassword", "abc"}),
            (Line{"--password", "**", "--wandbApiKey=***", "--dbPassword", "***"}));
  EXPECT_EQ(starred({"--use-auth-token", "--lr", "0.1"}), (Line{"--use-auth-token", "--lr", "0.1"}));
  EXPECT_EQ(one("--password="), "--password=");
}

TEST(SecretArguments, OptionsOfTextHaveNone) {
  for (const char* argument : {"--max-tokens=512", "--tokenizer=gpt2", "--pad-token=<pad>", "--eos_token=</s>",
                               "--key=name", "--num-keys=8", "--cost-per-token=3", "--mask_token=[MASK]",
                               "--image-token=7", "--author=me", "--monkey=1", "--tokens-per-batch=9"}) {
    EXPECT_EQ(one(argument), argument);
  }
}

TEST(SecretArguments, Settings) {
  EXPECT_EQ(one("HF_TOKEN=abcdef"), "HF_TOKEN=***");
  EXPECT_EQ(one("db.password=abcdef"), "db.password=***");
  EXPECT_EQ(one("model.token_dim=64"), "model.token_dim=64");
}

TEST(SecretArguments, Urls) {
  EXPECT_EQ(one("https://me:hunter22@host/path"), "https://me:***@host/path");
  EXPECT_EQ(one("--store=redis://:hunter22@host:6379/0"), "--store=redis://:***@host:6379/0");
  EXPECT_EQ(one("https://token123@github.com/x"), "https://***@github.com/x");
  EXPECT_EQ(one("s3://bucket/a@b?x=1&api_key=abcdef&y=2#z"), "s3://bucket/a@b?x=1&api_key=***&y=2#z");
  EXPECT_EQ(one("https://host:8080/path?n=1"), "https://host:8080/path?n=1");
  EXPECT_EQ(one("https://me:hunter@22@host/path"), "https://me:***@host/path");
  EXPECT_EQ(one("https://host/path?token&n=1"), "https://host/path?token&n=1");
  EXPECT_EQ(one("https://host/path?n&token=abcdef"), "https://host/path?n&token=***");
}

TEST(SecretArguments, KeysOfServices) {
  EXPECT_EQ(one("hf_abcdefghijklmnopqrstuvwx"), "***");
  EXPECT_EQ(one("--login=ghp_abcdefghijklmnopqrstuvwx"), "--login=***");
  for (const char* begin : {"hf_", "sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA",
                            "ASIA", "AIza", "eyJ"}) {
    EXPECT_EQ(one(begin + std::string(20, 'a')), "***");
  }
  EXPECT_EQ(one("hf_hub"), "hf_hub");
  EXPECT_EQ(one("sk-learn/model/weights-of-today.pt"), "sk-learn/model/weights-of-today.pt");
}

TEST(SecretArguments, AnArgumentThatIsCutOffIsLeftOut) {
  char line[] = "train.py\0--password";
  EXPECT_EQ(star_secrets(line, sizeof line - 1), 9u);
}

}  // namespace
}  // namespace tensorscope
