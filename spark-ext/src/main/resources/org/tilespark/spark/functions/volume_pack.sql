SELECT x, y, z, nx, ny, nz, hex(data) AS bytes FROM volume_pack(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 2, array(1F, 2F)) AS v(x, y, z, nx, ny, nz, values)));
-- 0	0	0	1	1	2	0000803F00000040
