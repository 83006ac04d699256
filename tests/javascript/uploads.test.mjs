// Uploads: the checksum of parts, which has to be zlib's.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./page.mjs";

const bytes = (text) => new TextEncoder().encode(text);

test("the checksum is zlib's CRC-32, in one piece or in several", () => {
  const { crc32 } = open(["uploads.js"]).window.bapo;
  assert.equal(crc32(bytes("")), 0);
  assert.equal(crc32(bytes("123456789")), 0xcbf43926); // The check value of CRC-32/ISO-HDLC.
  assert.equal(crc32(bytes("6789"), crc32(bytes("12345"))), 0xcbf43926);
});
