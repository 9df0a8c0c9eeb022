// How help looks: narrow enough for a terminal, each option with its unit and its default.
#pragma once

#include <CLI/CLI.hpp>

namespace intaglio::cli {

class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat();
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace intaglio::cli
