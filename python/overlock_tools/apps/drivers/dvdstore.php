<?php
// SPDX-License-Identifier: MIT
// The web tier of the store that dvdstore.lua makes: each page is one of its operations, at random, by the
// same statements. A page that fails is a 500; one that sold something says so in the server's log.

const CATEGORIES = 16, ACTORS = 500;
const WORDS = ['ACADEMY', 'AGENT', 'ALASKA', 'BANGER', 'BIRD', 'CABIN', 'DESERT', 'EAGLE', 'FROST', 'GHOST',
    'HARBOR', 'ISLAND', 'JUNGLE', 'KNIGHT', 'LADY', 'MOON', 'NIGHT', 'OCEAN', 'PILOT', 'RIVER'];

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
ignore_user_abort(true);
$customers = (int)get_cfg_var('store.customers');
$products = (int)get_cfg_var('store.products');
$db = new mysqli('p:localhost', 'root', '', get_cfg_var('store.database'));

function title(int $id): string
{
    $words = count(WORDS);
    return sprintf('%s %s %d', WORDS[$id % $words], WORDS[intdiv($id, $words) % $words], $id);
}

function login(): string
{
    global $db, $customers;
    $id = mt_rand(1, $customers);
    $found = $db->query("SELECT id FROM customers WHERE username = 'user$id' AND password = 'password$id'");
    if ((int)($found->fetch_row()[0] ?? 0) !== $id) {
        throw new Exception("login: there is no user$id");
    }
    $history = $db->query("SELECT o.id, l.product FROM orders o JOIN orderlines l ON l.orderid = o.id WHERE " .
        "o.customer = $id ORDER BY o.id DESC, l.line LIMIT 10");
    return "user$id: " . json_encode($history->fetch_all());
}

function search(): string
{
    global $db, $products;
    $id = mt_rand(1, $products);
    $where = match (mt_rand(1, 3)) {
        1 => 'category = ' . $id % CATEGORIES,
        2 => sprintf("actor = 'ACTOR %d'", $id % ACTORS),
        3 => sprintf("title = '%s'", title($id)),
    };
    $found = $db->query("SELECT id, title, price FROM products WHERE $where LIMIT 10");
    if ($found->num_rows < 1) {
        throw new Exception("search: nothing where $where");
    }
    return json_encode($found->fetch_all());
}

// In the order of the products' numbers, so that purchases do not wait for one another in a circle.
function basket(): array
{
    global $products;
    $quantities = [];
    for ($n = mt_rand(1, 5); $n > 0; $n--) {
        $quantities[mt_rand(1, $products)] = mt_rand(1, 3);
    }
    ksort($quantities);
    return $quantities;
}

function purchase(): string
{
    global $db, $customers;
    $id = mt_rand(1, $customers);
    [$lines, $total] = [[], 0];
    $db->begin_transaction();
    $db->query("UPDATE customers SET orders = orders + 1 WHERE id = $id");
    foreach (basket() as $product => $quantity) {
        $price = (int)$db->query("SELECT price FROM products WHERE id = $product")->fetch_row()[0];
        $db->query("UPDATE inventory SET stock = stock - $quantity, sold = sold + $quantity WHERE id = $product");
        $lines[] = sprintf('(LAST_INSERT_ID(), %d, %d, %d, %d)', count($lines) + 1, $product, $quantity, $price);
        $total += $price * $quantity;
    }
    $db->query("INSERT INTO orders (customer, total) VALUES ($id, $total)");
    $db->query('INSERT INTO orderlines VALUES ' . implode(',', $lines));
    $db->commit();
    apache_note('sold', 'sold');
    return "due: $total";
}

$kind = mt_rand(1, 100);
echo $kind <= 10 ? purchase() : ($kind <= 40 ? login() : search()), "\n";
