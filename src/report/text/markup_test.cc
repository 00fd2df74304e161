#include "report/text/markup.h"

#include <gtest/gtest.h>

namespace zs::report {
namespace {

TEST(Markup, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(markup_text("a<b> & \"c\" </script>"), "a&lt;b&gt; &amp; &quot;c&quot; &lt;/script&gt;");
}

TEST(Markup, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(markup_text("gr\xC3\xBC\xC3\x9F \xF0\x9F\x99\x82"), "gr\xC3\xBC\xC3\x9F \xF0\x9F\x99\x82");
  for (const char* bad :
       {"\x01", "\n", "\x7F", "\x80", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xEF\xBF\xBF", "\xF5\x80\x80\x80"}) {
    const std::string out = markup_text(std::string("a") + bad + "z");
    EXPECT_EQ(out.substr(0, 4), "a\xEF\xBF\xBD") << bad;
    EXPECT_EQ(out.back(), 'z');
  }
}

TEST(Markup, EscapesForMarkdownAndForTerminals) {
  EXPECT_EQ(markdown_text("a|b `c` *d* _e_ <x> @f \n\xFF"),
            "a\\|b \\`c\\` \\*d\\* \\_e\\_ &lt;x&gt; &#64;f \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(printable_text("<a> \x1B[2J\xFF gr\xC3\xBC"), "<a> \xEF\xBF\xBD[2J\xEF\xBF\xBD gr\xC3\xBC");
}

}  // namespace
}  // namespace zs::report
