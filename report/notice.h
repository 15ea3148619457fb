/* What is said of a launch that takes long, while it continues. */
#ifndef REPORT_NOTICE_H
#define REPORT_NOTICE_H

#include "simt/simt.h"

enum { NOTICE_NBYTES = 1024 };

void notice_text(const simt_notice *notice, const simt_launch *launch, char text[NOTICE_NBYTES]);

#endif
